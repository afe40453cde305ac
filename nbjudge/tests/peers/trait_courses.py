"""Six small courses with the traits of public nbgrader courses, each handed in by the class of six.

None has cell ids, as 123 of 125 public instructor notebooks. Imports are in cells without nbgrader metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import nbformat
from class_of_six import CLASS, FAILING, Student, half_done
from nbformat import NotebookNode
from peer_courses import HEADER, RULES, Assignment, Notebooks

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
# nbgrader writes the tests itself, from the solution's values.
AUTOTEST = """
#%% plain
import math
#%% answer area
def area(radius):
    ### BEGIN SOLUTION
    return math.floor(math.pi * radius**2)
    ### END SOLUTION
#%% answer areas
### BEGIN SOLUTION
areas = [area(each) for each in range(4)]
### END SOLUTION
#%% test area_test 2
### AUTOTEST area(3)
### HASHED AUTOTEST area(10)
#%% test areas_test 1
### AUTOTEST areas
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
    notebook = half_done(released, source)
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
    _course("autotest", {"autotest": AUTOTEST}, course_files=(RULES,)),
    _course("magics", {"magics": MAGICS}, "", "helper.py"),
)
