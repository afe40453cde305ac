"""The public names of nbjudge: their examples run, and importing them stays light."""

from __future__ import annotations

import doctest
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import nbjudge
import nbjudge.api
from nbjudge.errors import CourseError

EXAMPLE = Path(__file__).parents[2] / "examples" / "statistics"
HEAVY = {"nbgrader", "nbconvert", "nbformat", "numpy", "sqlalchemy", "torch"}


@pytest.fixture
def course(tmp_path):
    """A copy of the example course: a grading key is written to it."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))


def failures(thing, **names) -> int:
    """The number of examples in a docstring that fail."""
    examples = [
        each for each in doctest.DocTestFinder(recurse=False).find(thing, globs=names) if each.examples
    ]
    assert examples
    return sum(doctest.DocTestRunner().run(each).failed for each in examples)


def test_the_examples_of_the_package_run():
    assert failures(nbjudge) == 0


@pytest.mark.parametrize("name", ["Exercise", "Step", "case", "configure"])
def test_a_public_name_has_numpydoc_sections_and_an_example_that_runs(name):
    thing = getattr(nbjudge, name)
    assert "Parameters\n" in thing.__doc__ and failures(thing) == 0


@pytest.mark.integration
def test_the_example_of_grade_notebook_runs(course):
    assert (
        failures(nbjudge.api.grade_notebook, solution=course / "source/ps1/spread.ipynb", course=course) == 0
    )


@pytest.mark.integration
def test_a_wrong_answer_is_graded_as_typed_data(course, tmp_path):
    path = tmp_path / "spread.ipynb"
    notebook = nbformat.read(course / "source/ps1/spread.ipynb", as_version=4)
    for cell in notebook.cells:
        if "def deviation(" in cell.source:
            cell.source = "def deviation(sample):\n    return ((sample - sample.mean()) ** 2).mean() ** 0.5"
    nbformat.write(notebook, path)
    result = nbjudge.grade_notebook(path, course, student="bob")
    deviation, standardise = result.verdicts
    assert (deviation.exercise, deviation.points, standardise.points) == ("deviation", 0, 4)
    assert deviation.findings[0].mistake == "divided_by_n"
    assert result.points == 4 and result.max_points == 7 and result.assignment == "ps1/spread"


def test_a_file_that_is_no_notebook_gets_no_points_and_a_reason(course, tmp_path, monkeypatch):
    monkeypatch.setattr(nbjudge.api, "refusal", lambda: None)
    path = tmp_path / "spread.ipynb"
    path.write_text("not a notebook")
    result = nbjudge.grade_notebook(path, course)
    assert result.points == 0 and result.max_points == 7 and "spread.ipynb" in result.reason
    with pytest.raises(CourseError, match="cannot be read"):
        nbjudge.grade_notebook(tmp_path / "none.ipynb", course, "ps1")
    with pytest.raises(CourseError, match="There is no assignment 'ps9'"):
        nbjudge.grade_notebook(path, course, "ps9")


def test_public_names_are_there_and_others_are_not():
    assert all(getattr(nbjudge, name).__doc__ for name in nbjudge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'grade_notebok'"):
        _ = nbjudge.grade_notebok


@pytest.mark.integration
def test_importing_nbjudge_is_light():
    program = f"import sys, nbjudge\nprint(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
