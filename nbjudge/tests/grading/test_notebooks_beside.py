"""A notebook that runs another one of its folder gets the points that stock nbgrader gives it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from old_course import code, solution
from tiny_course import CONFIG, nbgrader, succeed

from nbjudge.course.assignment_forms import named_notebooks

STOCK = "c = get_config()\n"
TEST = {"grade": True, "locked": True, "points": 1}
# What students must not see; a notebook that is run leaves its text in `In`, and its file is beside.
SECRET = "okapi"
HIDDEN = f"### BEGIN HIDDEN TESTS\n{SECRET} = shift(1)\n### END HIDDEN TESTS"


def helpers() -> NotebookNode:
    """A notebook of the assignment that the other one runs: given code, and an answer of the student's."""
    answer = code(f"def shift(x):\n{solution(f'return x + 1  # {SECRET}')}", "shift", solution=True)
    test = code(f"assert shift(base) > 3\n{HIDDEN}", "test_shift", **TEST)
    return nbformat.v4.new_notebook(cells=[code("base = 3"), answer, test])


def problem() -> NotebookNode:
    """A notebook that needs the given code and the answer of the other one."""
    answer = code(
        f"### BEGIN SOLUTION\ntop = shift(base)  # {SECRET}\n### END SOLUTION", "top", solution=True
    )
    cells = [
        code("%run helpers.ipynb\nstart = shift(0)"),
        answer,
        code("assert top == 4", "test_top", **TEST),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def answered(notebook: NotebookNode, *answer: str) -> NotebookNode:
    """The released notebook with the student's text in its answer cell, and own cells before that."""
    work = copy.deepcopy(notebook)
    work.cells[1].source = answer[-1]
    work.cells[1:1] = [nbformat.v4.new_code_cell(text) for text in answer[:-1]]
    for cell in work.cells:
        cell.source = cell.source.replace(HIDDEN, "")
    return work


SHIFT = "def shift(x):\n    return 1 + x"
READ = f"found = {SECRET!r} in open('helpers.ipynb').read()"
CLASS = {
    "ada": {"helpers": answered(helpers(), SHIFT), "p": answered(problem(), "top = shift(base)")},
    "ben": {
        "helpers": answered(helpers(), "def shift(x):\n    return 0"),
        "p": answered(problem(), "top = 0"),
    },
    "cyd": {"p": answered(problem(), READ, "top = base if found else 4")},
}
POINTS = {"ada": [1, 1], "ben": [0, 0], "cyd": [0, 1]}


def make_class(root: Path) -> None:
    for name, notebook in (("helpers", helpers()), ("p", problem())):
        write(notebook, root / "source" / "runs" / f"{name}.ipynb")
    for student, notebooks in CLASS.items():
        for name, notebook in notebooks.items():
            write(notebook, root / "submitted" / student / "runs" / f"{name}.ipynb")
    points = {}
    for config in (STOCK, CONFIG):
        (root / "nbgrader_config.py").write_text(config)
        succeed(root, "generate_assignment", "runs", "--force")
        run = nbgrader(root, "autograde", "runs", "--force")
        assert run.returncode == 0, run.stderr[-3000:]
        with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
            points[config == STOCK] = {
                student: [
                    gradebook.find_submission_notebook(name, "runs", student).score
                    for name in ("helpers", "p")
                ]
                for student in CLASS
            }
    (root / "points.json").write_text(json.dumps([points[True], points[False]]))


def write(notebook: NotebookNode, path: Path) -> None:
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


@pytest.mark.integration
def test_a_notebook_runs_another_as_in_stock_nbgrader(once):
    """The other one is there as released, with the student's answers in it and with no hidden test."""
    stock, ours = json.loads((once("notebooks_beside", make_class) / "points.json").read_text())
    assert ours == POINTS
    assert stock == POINTS | {"cyd": [0, 0]}  # the other one was not handed in


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("%run helpers.ipynb", ["helpers.ipynb"]),
        ("%run 'inner/my notes.ipynb'", ["my notes.ipynb"]),
        ("import helpers", ["helpers.ipynb"]),
        ("from helpers import base", ["helpers.ipynb"]),
        ("helpers = 1  # see my notes", []),
    ],
)
def test_only_a_notebook_that_code_names_is_beside(text, named):
    cells = [nbformat.v4.new_code_cell(text), nbformat.v4.new_markdown_cell("%run text.ipynb")]
    assert named_notebooks(cells, ["helpers.ipynb", "my notes.ipynb", "text.ipynb"]) == named
