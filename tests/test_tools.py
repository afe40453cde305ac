"""Behaviours of nbgrader, nbconvert, ipykernel, ipywidgets and nbval that the code relies on.

docs/versions.md has them all, with the places in the code; here are those that no other test meets.
"""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import ipywidgets
import nbformat
import pytest
from ipykernel.kernelbase import Kernel
from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.utils import determine_grade, parse_utc
from test_docs import table_rows

ROOT = Path(__file__).resolve().parents[1]
ERROR = new_output("error", ename="E", evalue="", traceback=[])
TRACEBACK = new_output("stream", name="stderr", text="Traceback (most recent call last)")


def result(text):
    return new_output("execute_result", {"text/plain": text} if text else {}, execution_count=1)


def points_of(*outputs):
    """What nbgrader gives a graded cell of 3 points with these outputs, or the class of its error."""
    marks = {"grade": True, "solution": False, "locked": True, "points": 3, "grade_id": "a", "task": False}
    try:
        return determine_grade(new_code_cell(outputs=list(outputs), metadata={"nbgrader": marks}))[0]
    except (KeyError, ValueError) as error:
        return type(error).__name__


def input_without_frontend():
    try:
        Kernel.raw_input(SimpleNamespace(_allow_stdin=False))
    except Exception as error:
        return type(error).__name__


BEHAVIOURS = {
    "a silent test gets all points": (lambda: points_of(), 3),
    "the first number is the points": (lambda: points_of(result("1"), result("2")), 1),
    "an error counts for nothing beside a number": (lambda: points_of(result("1"), ERROR), 1),
    "a traceback that was printed fails": (lambda: points_of(TRACEBACK), 0),
    "more points than the cell has": (lambda: points_of(result("5")), "ValueError"),
    "a result without text": (lambda: points_of(result("")), "KeyError"),
    "text that is no number": (lambda: points_of(result("abc")), 3),
    "the documented form of a time": (lambda: f"{parse_utc('2026-11-21-09-30-00'):%H:%M}", "09:00"),
    "validation after each preprocessor": (
        lambda: NotebookExporter.class_traits()["optimistic_validation"].default(),
        False,
    ),
    "input() without a frontend": (input_without_frontend, "StdinNotImplementedError"),
    "what a widget shows": (
        lambda: sorted(ipywidgets.VBox()._repr_mimebundle_()),
        ["application/vnd.jupyter.widget-view+json", "text/plain"],
    ),
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_a_tool_behaves_as_it_did(behaviour):
    call, expected = BEHAVIOURS[behaviour]
    assert call() == expected


@pytest.mark.integration
def test_nbval_has_no_history_of_inputs_and_results(tmp_path):
    notebook = new_notebook(
        metadata={"kernelspec": {"display_name": "P", "language": "python", "name": "python3"}}
    )
    for code, shown in (("1 + 1", "2"), ("Out[1]", "2"), ("In[1]", "'1 + 1'"), ("3", "3")):
        notebook.cells.append(new_code_cell(code, outputs=[result(shown)], execution_count=1))
    nbformat.write(notebook, tmp_path / "names.ipynb")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval", "-q", "names.ipynb"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    assert re.findall(r"FAILED names.ipynb::Cell (\d)", printed) == ["1", "2"]


def test_the_table_names_the_installed_versions():
    section = (ROOT / "docs/versions.md").read_text().split("## What other tools do")[1]
    named = set(re.findall(r"(\w+) (\d[\w.]*)", " ".join(row[0] for row in table_rows(section)[1:])))
    assert len(named) >= 5
    assert named == {(name, version(name)) for name, _ in named}
