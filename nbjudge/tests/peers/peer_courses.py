"""Assignments to be graded by stock nbgrader and by nbjudge, and the students who hand them in.

The first ones are nbgrader's own fixtures and the example course of its documentation, read from the
installed package. Then five small courses with the traits of public ones, each handed in by a class of six.
None has cell ids, as 123 of 125 public instructor notebooks. Imports are in cells without nbgrader metadata.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import nbformat
import nbgrader
from nbformat import NotebookNode
from nbgrader.tests import create_grade_cell, create_solution_cell

Student = Callable[[NotebookNode, NotebookNode], NotebookNode]

MARKERS = ("BEGIN SOLUTION", "END SOLUTION")  # nbgrader's ClearSolutions
SYNTAX_ERROR = "def not_finished(:\n    return"
WARNINGS = (
    "import sys, warnings\n"
    "warnings.warn('a warning from the student')\n"
    "print('debug output', file=sys.stderr)\n"
    "print('more debug output')"
)
FAILING = "1 / 0"


def is_answer(cell: NotebookNode) -> bool:
    """Return whether students write in this cell."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def is_test(cell: NotebookNode) -> bool:
    """Return whether this code cell is graded automatically and students do not write in it."""
    marks = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and bool(marks.get("grade")) and not marks.get("solution")


def solution(released: NotebookNode, source: NotebookNode, step: int = 1) -> NotebookNode:
    """Every answer is the instructor's; or every second one, and the others are not written."""
    answers = {cell.metadata["nbgrader"]["grade_id"]: cell.source for cell in source.cells if is_answer(cell)}
    notebook = deepcopy(released)
    for cell in [cell for cell in notebook.cells if is_answer(cell)][::step]:
        lines = answers[cell.metadata["nbgrader"]["grade_id"]].split("\n")
        cell.source = "\n".join(line for line in lines if not any(marker in line for marker in MARKERS))
    return notebook


def syntax_error(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The instructor's answers, except that the first code answer does not compile."""
    notebook = solution(released, source)
    for cell in [each for each in notebook.cells if is_answer(each) and each.cell_type == "code"][:1]:
        cell.source = SYNTAX_ERROR
    return notebook


def deleted_test(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The instructor's answers without the first test cell."""
    notebook = solution(released, source)
    for cell in [each for each in notebook.cells if is_test(each)][:1]:
        notebook.cells.remove(cell)
    return notebook


def noisy(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """Own cells between the instructor's answers: warnings and output first, and failing cells later."""
    notebook = solution(released, source)
    cells = [_own_cell(notebook, WARNINGS)]
    for cell in notebook.cells:
        cells += [cell, _own_cell(notebook, FAILING)] if is_answer(cell) else [cell]
    notebook.cells = [*cells, _own_cell(notebook, FAILING)]
    return notebook


CLASS: dict[str, Student] = {
    "solution": solution,
    "untouched": lambda released, source: deepcopy(released),
    "half-done": partial(solution, step=2),
    "syntax-error": syntax_error,
    "deleted-test": deleted_test,
    "noisy": noisy,
}


def _own_cell(notebook: NotebookNode, code: str) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(code)
    if notebook.nbformat_minor < 5:  # the format has no cell ids yet
        del cell["id"]
    return cell


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


AUTOTEST_KINDS = ("simple", "hashed", "hidden", "multi")
STUB = "--ClearSolutions.code_stub={'python': '# YOUR CODE HERE'}"
HEADER = "--IncludeHeaderFooter.header=header.ipynb"
SHORT_TIME = ("--Execute.timeout=2", "--RunAndJudge.cell_seconds=2")
PICTURE = GUIDE / "source" / "ps1" / "jupyter.png"
RULES = FILES / "autotests.yml"

CHEAT_ATTEMPTS = ("cheat-attempt", "cheat-attempt-alternative")
VARIABLES = Assignment(
    "variables",
    fixtures(p1="submitted-unchanged"),
    {
        name: fixtures(p1=f"submitted-{name}")
        for name in ("unchanged", "changed", "grade-cell-changed", "locked-cell-changed", *CHEAT_ATTEMPTS)
    }
    | {
        name: {"p1": CELL_FILES / f"submitted-{name}.ipynb"}
        for name in ("answer-cell-type-changed", "grade-cell-type-changed")
    },
)
AUTOTESTS = Assignment(
    "autotests",
    fixtures(**{kind: f"autotest-{kind}" for kind in AUTOTEST_KINDS}),
    {
        "unchanged": fixtures(**{kind: f"autotest-{kind}-unchanged" for kind in AUTOTEST_KINDS}),
        "changed": fixtures(
            **{kind: f"autotest-{kind}-changed" for kind in AUTOTEST_KINDS if kind != "hidden"}
        )
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
PEERS = (VARIABLES, AUTOTESTS, HIDDEN, SQUARES, OLD_FORMATS, MISSING, RUNNING, PATIENT)
PEERS += (EXAMPLE, EXAMPLE_ARCHIVE, EXAMPLE_AUTOTEST, RESULTS, AGAIN)


def works(assignments: Iterable[Assignment]) -> list[str]:
    """All that is graded, each as "assignment student notebook"."""
    return [
        f"{assignment.name} {student} {name}"
        for assignment in assignments
        for student in assignment.students
        for name in assignment.source
    ]


TRAIT_FILES = Path(__file__).parent / "trait_files"
CELL_START = "#%% "  # then the kind of cell, its name for nbgrader, and its points
KINDS = {
    "plain": None,  # no nbgrader metadata, as most courses have their imports in
    "prose": None,
    "old": {},  # marked as nothing, without an id, as `nbgrader update` leaves the cells of old courses
    "old-prose": {},
    "locked": {"locked": True},
    "answer": {"solution": True},
    "test": {"grade": True, "locked": True},
    "written": {"grade": True, "solution": True},  # text, marked by hand
    "drawn": {"grade": True, "solution": True},  # code, marked by hand
    "task": {"task": True, "locked": True},  # text; students add cells of their own, marked by hand
}

# Cells of an old course without ids.
# NumPy, a magic beside the imports, tests as people write them with pytest and numpy.testing, partial credit.
STATISTICS = """
#%% old-prose
Middle and spread
#%% old
%matplotlib inline
import numpy as np
import matplotlib.pyplot as plt
#%% answer middle
def middle(values):
    ### BEGIN SOLUTION
    if len(values) == 0:
        raise ValueError("no values")
    return np.median(values)
    ### END SOLUTION
#%% plain
three_values = [3, 1, 2]
#%% test middle_test 2
from numpy.testing import assert_allclose
assert_allclose(middle(three_values), 2)
### BEGIN HIDDEN TESTS
assert_allclose(middle([4, 1, 3, 2]), 2.5)
### END HIDDEN TESTS
#%% test middle_raises 1
import pytest
with pytest.raises(ValueError):
    middle([])
#%% answer spread
def spread(values):
    ### BEGIN SOLUTION
    return max(values) - min(values)
    ### END SOLUTION
#%% test spread_test 3
points = 0
if spread([1, 4]) == 3:
    points += 1
if spread([2, 2]) == 0:
    points += 2
points
"""
# A magic beside the imports.
# pandas and a data file with an accent in its name, read in a locked cell and in an answer.
MEASUREMENTS = """
#%% plain
%matplotlib inline
import pandas as pd
#%% locked read
größen = pd.read_csv("größen.csv")
len(größen)
#%% answer mean
### BEGIN SOLUTION
table = pd.read_csv("größen.csv")
means = table.groupby("Ort")["Größe"].mean()
### END SOLUTION
#%% test mean_test 2
expected = größen.groupby("Ort")["Größe"].mean()
pd.testing.assert_series_equal(means, expected)
#%% answer tallest
def tallest(table):
    ### BEGIN SOLUTION
    return table.sort_values("Größe")["Name"].iloc[-1]
    ### END SOLUTION
#%% test tallest_test 1
assert tallest(größen.copy()) == "Łucja"
"""
# A demonstration that no person answers while grading.
# matplotlib: the test looks at the axes that an answer has drawn on; one picture is marked by hand.
PICTURES = """
#%% plain
%matplotlib inline
import matplotlib.pyplot as plt
import numpy as np
#%% plain
periods = int(input("How many periods? "))
#%% answer wave
def draw_wave(axes, periods):
    ### BEGIN SOLUTION
    x = np.linspace(0, periods, 50)
    axes.plot(x, np.sin(2 * np.pi * x))
    axes.set_title("Wave")
    ### END SOLUTION
#%% test wave_test 2
figure, axes = plt.subplots()
draw_wave(axes, 3)
(line,) = axes.get_lines()
assert line.get_xdata()[-1] == 3
assert axes.get_title()
plt.close(figure)
#%% drawn own_picture 3
### BEGIN SOLUTION
plt.bar(["ä", "ö"], [1, 2])
plt.show()
### END SOLUTION
"""
# Two notebooks of one assignment, with a written answer and a task. Both get the course's header.
WARM_UP = """
#%% answer double
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
#%% test double_test 1
assert double(2) == 4
assert double("né") == "néné"
"""
ESSAY = """
#%% answer count
def count(text):
    ### BEGIN SOLUTION
    return len(text.split())
    ### END SOLUTION
#%% test count_test 1
assert count("eins zwei drei") == 3
#%% written why 4
The median ignores how far away the extreme values are.
#%% task own_data 5
Add cells that analyse data of your own.

=== BEGIN MARK SCHEME ===
5 points: a plot with labels
=== END MARK SCHEME ===
"""
# Magics in plain, locked and test cells, a module beside the notebook with assertions under the names they
# had in nose, and a test that looks whether an answer calls another one.
MAGICS = """
#%% plain
%load_ext autoreload
%autoreload 2
#%% locked helper
from helper import assert_equal, assert_raises
%time numbers = list(range(10))
#%% answer squares
def squares(n):
    ### BEGIN SOLUTION
    if n < 1:
        raise ValueError("n is too small")
    return [i**2 for i in range(1, n + 1)]
    ### END SOLUTION
#%% plain
%%time
sum(numbers)
#%% test squares_test 2
%precision 3
assert_equal(squares(3), [1, 4, 9])
assert_equal(len(squares(len(numbers))), 10)
#%% test squares_raises 1
assert_raises(ValueError, squares, 0)
#%% answer sum
def total(n):
    ### BEGIN SOLUTION
    return sum(squares(n))
    ### END SOLUTION
#%% test sum_uses_squares 1
original = squares
del squares
try:
    assert_raises(NameError, total, 2)
finally:
    squares = original
"""


def notebook(text: str) -> NotebookNode:
    """Read a notebook from text whose cells begin with `CELL_START`.

    It has the format of most public courses, 4.2, in which cells have no ids.
    """
    cells = [_cell(*part.split("\n", 1)) for part in f"\n{text.strip()}".split(f"\n{CELL_START}")[1:]]
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    content = {"nbformat": 4, "nbformat_minor": 2, "metadata": {"kernelspec": kernel}, "cells": cells}
    return nbformat.from_dict(content)


def _cell(about: str, source: str) -> NotebookNode:
    kind, *named = about.split()
    is_text = kind in ("prose", "old-prose", "written", "task")
    cell = nbformat.v4.new_markdown_cell(source) if is_text else nbformat.v4.new_code_cell(source)
    del cell["id"]
    marks = KINDS[kind]
    if marks is not None:
        usual = dict.fromkeys(("grade", "solution", "locked"), False)
        cell.metadata["nbgrader"] = usual | marks | {"schema_version": 3}
        if named:
            cell.metadata.nbgrader |= {"task": False, "grade_id": named[0]} | marks
        if len(named) > 1:
            cell.metadata.nbgrader["points"] = int(named[1])
    return cell


def _course(
    name: str,
    notebooks: dict[str, str],
    prefix: str = "",
    *files: str,
    class_: Mapping[str, Student] = CLASS,
    **more: object,
) -> Assignment:
    students: dict[str, Notebooks] = {
        f"{prefix}{student}": dict.fromkeys(notebooks, hand_in) for student, hand_in in class_.items()
    }
    source = {each: notebook(text) for each, text in notebooks.items()}
    extra_files = tuple(TRAIT_FILES / file for file in files)
    return Assignment(name, source, students, extra_files=extra_files, **more)


def noisy_half_done(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """Every second answer, and behind all of them a failing cell of the student's own."""
    notebook = solution(released, source, step=2)
    notebook.cells.append(_cell("plain", FAILING))
    return notebook


HEADER_FILE = TRAIT_FILES / "header.ipynb"
TRAITS = (
    _course("statistics", {"statistics": STATISTICS}),
    _course(
        "measurements",
        {"größen": MEASUREMENTS},
        "żółć-",
        "größen.csv",
        class_=CLASS | {"noisy-half-done": noisy_half_done},
    ),
    _course("pictures", {"pictures": PICTURES}),
    _course(
        "two_notebooks",
        {"warm_up": WARM_UP, "essay": ESSAY},
        course_files=(HEADER_FILE,),
        settings=(HEADER,),
    ),
    _course("magics", {"magics": MAGICS}, "", "helper.py"),
)
