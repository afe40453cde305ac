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
from nbjudge.grading import prepare

EXAMPLE = Path(__file__).parents[2] / "examples" / "statistics"
HEAVY = {"nbgrader", "nbconvert", "nbformat", "numpy", "sqlalchemy", "torch"}


@pytest.fixture
def course(tmp_path):
    """A copy of the example course: a grading key is written to it."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))


@pytest.fixture
def any_machine(monkeypatch):
    """Nothing is run, so that no sandbox is needed."""
    monkeypatch.setattr(prepare, "refusal", lambda: None)


def failures(thing, **names) -> int:
    """The number of examples in a docstring that fail."""
    examples = [
        each for each in doctest.DocTestFinder(recurse=False).find(thing, globs=names) if each.examples
    ]
    assert examples
    return sum(doctest.DocTestRunner().run(each).failed for each in examples)


def test_the_examples_of_the_package_run():
    assert failures(nbjudge) == 0


@pytest.mark.parametrize("name", ["Exercise", "Step", "Variable", "case", "configure"])
def test_public_names_have_sections_and_examples(name):
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
    deviation, standardise, relative_spread = result.verdicts
    assert (deviation.exercise, deviation.points, standardise.points) == ("deviation", 0, 4)
    assert deviation.findings[0].mistake == "divided_by_n"
    assert relative_spread.findings[0].mistake == "spread_with_n"  # it is made with the student's deviation
    assert result.points == 4 and result.max_points == 9 and result.assignment == "ps1/spread"


def test_no_notebook_gets_no_points_and_a_reason(course, tmp_path, any_machine):
    path = tmp_path / "spread.ipynb"
    path.write_text("not a notebook")
    result = nbjudge.grade_notebook(path, course)
    assert result.points == 0 and result.max_points == 9 and "spread.ipynb" in result.reason
    with pytest.raises(CourseError, match="cannot be read"):
        nbjudge.grade_notebook(tmp_path / "none.ipynb", course, "ps1")
    with pytest.raises(CourseError, match="There is no assignment 'ps9'"):
        nbjudge.grade_notebook(path, course, "ps9")


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("eve/ps1/spread.ipynb", "source/ps1/spread.ipynb"),
        ("eve/ps1/spread.ipynb", "/dev/zero"),
        ("eve/ps1", "source/ps1"),
        ("eve", "source"),
    ],
)
@pytest.mark.parametrize("where", ["submitted", "downloads"])
def test_a_link_is_not_followed(course, any_machine, where, link, target):
    """As in a class: another's work, or the solution, is no one's submission."""
    path = course / where / link
    path.parent.mkdir(parents=True)
    path.symlink_to(course / target)
    result = nbjudge.grade_notebook(course / where / "eve/ps1/spread.ipynb", course)
    assert result.points == 0 and "is a link" in result.reason


def test_what_stops_a_class_stops_one_notebook(course, any_machine, monkeypatch):
    notebook = course / "source/ps1/spread.ipynb"
    with monkeypatch.context() as shown:
        shown.setattr(prepare, "shown_to_students", lambda _modules: [course.parent])
        with pytest.raises(CourseError, match=r"^The course \(.*which student code can read"):
            nbjudge.grade_notebook(notebook, course)
    checks = course / "checks/spread.py"
    checks.write_text(checks.read_text().replace("points=", "points=1 + "))
    with pytest.raises(CourseError, match="make the two agree"):
        nbjudge.grade_notebook(notebook, course)


def test_public_names_are_there_and_others_are_not():
    assert all(getattr(nbjudge, name).__doc__ for name in nbjudge.__all__)
    with pytest.raises(AttributeError, match="no attribute 'grade_notebok'"):
        _ = nbjudge.grade_notebok


@pytest.mark.integration
def test_importing_nbjudge_is_light():
    program = f"import sys, nbjudge\nprint(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
