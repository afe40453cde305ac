"""nbgrader's own fixtures and the example course of its documentation, as assignments to be graded.

Every notebook is read from the installed package, where nbgrader ships its tests and its user guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
import nbgrader
from class_of_six import Student
from nbformat import NotebookNode
from nbgrader.tests import create_grade_cell, create_solution_cell

PACKAGE = Path(nbgrader.__file__).parent
FILES = PACKAGE / "tests" / "apps" / "files"
CELL_FILES = PACKAGE / "tests" / "preprocessors" / "files"
GUIDE = PACKAGE / "docs" / "source" / "user_guide"
ARCHIVE = GUIDE / "downloaded" / "ps1" / "archive"  # what a learning platform gave out

# In the place of a file: "what students get", unchanged.
RELEASED = Path("released")

# Notebooks by name, which may be any where a student chose it. Or a function that makes what is handed in.
Notebooks = Mapping[str, Path | NotebookNode | Student]


@dataclass(frozen=True)
class Assignment:
    """An assignment made of fixtures, and the students who hand it in."""

    name: str
    source: Notebooks
    students: dict[str, Notebooks]
    extra_files: tuple[Path, ...] = ()  # further files of the source folder
    course_files: tuple[Path, ...] = ()  # files of the course's own folder
    settings: tuple[str, ...] = ()  # what nbgrader's tests write into nbgrader_config.py
    due: str = ""
    stock_needs_update: bool = False  # stock nbgrader stops the class: one by one, `nbgrader update` between


def fixtures(**notebooks: str) -> Notebooks:
    return {name: FILES / f"{fixture}.ipynb" for name, fixture in notebooks.items()}


def from_guide(folder: str, *names: str) -> Notebooks:
    return {name: GUIDE / folder / f"{name}.ipynb" for name in names}


def from_archive(*files: str) -> Notebooks:
    """Files of the archive by the name they were handed in under, the last part of their own."""
    return {file.split("_")[-1]: ARCHIVE / "notebooks.zip" / f"{file}.ipynb" for file in files}


KINDS = ("simple", "hashed", "hidden", "multi")
STUB = "--ClearSolutions.code_stub={'python': '# YOUR CODE HERE'}"
HEADER = "--IncludeHeaderFooter.header=header.ipynb"
SHORT_TIME = ("--Execute.timeout=2", "--RunAndJudge.cell_seconds=2")
PICTURE = GUIDE / "source" / "ps1" / "jupyter.png"
RULES = FILES / "autotests.yml"

VARIABLES = Assignment(
    "variables",
    fixtures(p1="submitted-unchanged"),
    {
        name: fixtures(p1=f"submitted-{name}")
        for name in (
            "unchanged",
            "changed",
            "grade-cell-changed",
            "locked-cell-changed",
            "cheat-attempt",
            "cheat-attempt-alternative",
        )
    }
    | {
        name: {"p1": CELL_FILES / f"submitted-{name}.ipynb"}
        for name in ("answer-cell-type-changed", "grade-cell-type-changed")
    },
)
AUTOTESTS = Assignment(
    "autotests",
    fixtures(**{kind: f"autotest-{kind}" for kind in KINDS}),
    {
        "unchanged": fixtures(**{kind: f"autotest-{kind}-unchanged" for kind in KINDS}),
        "changed": fixtures(**{kind: f"autotest-{kind}-changed" for kind in KINDS if kind != "hidden"})
        | fixtures(hidden="autotest-hidden-changed-right"),
        "wrong": fixtures(hidden="autotest-hidden-changed-wrong"),
    },
    course_files=(RULES,),
)
HIDDEN = Assignment(
    "hidden", fixtures(p1="test-hidden-tests"), {"released": {"p1": RELEASED}}, settings=(STUB,)
)
SQUARES = Assignment(
    "squares",
    fixtures(p1="test"),
    {
        "released": {"p1": RELEASED},
        "solved": fixtures(p1="test"),
        "with-output": fixtures(p1="test-with-output"),
        "no-metadata": fixtures(p1="test-no-metadata"),
        "no-metadata-autotest": fixtures(p1="test-no-metadata-autotest"),
    },
    extra_files=(FILES / "jupyter.png",),
)
OLD_FORMATS = Assignment(
    "old_formats",
    fixtures(p1="test"),
    {name: fixtures(p1=f"test-{name}") for name in ("v0", "v0-invalid", "v1", "v2")}
    | {"too-new": fixtures(p1="too-new")},
    stock_needs_update=True,
)
MISSING = Assignment(
    "missing",
    fixtures(p1="submitted-unchanged", p2="submitted-unchanged"),
    {"without-p2": fixtures(p1="submitted-changed"), "empty-folder": {}},
)
_RUNNING = fixtures(
    environment="validating-environment-variable",
    file="open_relative_file",
    loop="infinite-loop",
    loop_with_output="infinite-loop-with-output",
    side_effect="side-effects",
    slow="timeout",
    zero_points="validation-zero-points",
)
RUNNING = Assignment(
    "running", _RUNNING, {"student": _RUNNING}, extra_files=(FILES / "data.txt",), settings=SHORT_TIME
)
PATIENT = Assignment("patient", fixtures(slow="timeout"), {"student": fixtures(slow="timeout")})
EXAMPLE = Assignment(
    "ps1",
    from_guide("source/ps1", "problem1", "problem2"),
    {who: from_guide(f"submitted/{who}/ps1", "problem1", "problem2") for who in ("bitdiddle", "hacker")},
    extra_files=(PICTURE,),
    course_files=(GUIDE / "source" / "header.ipynb",),
    settings=(HEADER,),
)
EXAMPLE_ARCHIVE = Assignment(
    "ps1_archive",
    EXAMPLE.source,
    {
        "hacker": from_archive(
            "ps1_hacker_attempt_2016-01-30-16-30-10_myproblem1",
            "ps1_hacker_attempt_2016-01-30-16-30-10_problem2",
        ),
        "hacker-again": {"problem1": ARCHIVE / "ps1_hacker_attempt_2016-01-30-20-30-10_problem1.ipynb"},
    },
    extra_files=(PICTURE,),
    settings=(HEADER,),
    stock_needs_update=True,
)
EXAMPLE_AUTOTEST = Assignment(
    "ps1_autotest",
    from_guide("source/ps1_autotest", "problem1"),
    {"hacker": from_guide("submitted/hacker/ps1", "problem1")},
    extra_files=(PICTURE,),
    course_files=(GUIDE / "autotests.yml",),
)


def result_test(answer: str) -> Notebooks:
    """A notebook whose test cell gives partial credit, as nbgrader's documentation describes it."""
    cells = [
        create_solution_cell(f"def points():\n    {answer}", "code", "answer"),
        create_grade_cell("points()", "code", "test", 2),
    ]
    return {"p1": nbformat.v4.new_notebook(cells=cells)}


RESULTS = Assignment(
    "results",
    result_test("return 2"),
    {
        "some": result_test("return 1.5"),
        "warning": result_test("import warnings; warnings.warn('This is a warning message')"),
        "too-many": result_test("return 100"),
        "empty": result_test("return type('', (), {'__repr__': lambda self: ''})()"),
    },
    settings=(
        "--IgnorePattern.enabled=True",
        "--IgnorePattern.pattern=This is a warning",
        "--LateSubmissionPlugin.penalty_method=zero",
    ),
    due="2015-02-02 14:58:23.948203 America/Los_Angeles",
)
# Handed in twice: an empty notebook at first, and later what students get.
AGAIN = Assignment("again", fixtures(p1="test"), {"student": {"p1": nbformat.v4.new_notebook()}})
ALL = (
    VARIABLES,
    AUTOTESTS,
    HIDDEN,
    SQUARES,
    OLD_FORMATS,
    MISSING,
    RUNNING,
    PATIENT,
    EXAMPLE,
    EXAMPLE_ARCHIVE,
    EXAMPLE_AUTOTEST,
    RESULTS,
    AGAIN,
)


def works() -> list[str]:
    """All that is graded, each as "assignment student notebook"."""
    return [
        f"{assignment.name} {student} {name}"
        for assignment in ALL
        for student in assignment.students
        for name in assignment.source
    ]
