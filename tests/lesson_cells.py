"""What tests read of the course's notebooks: their cells, and what nbgrader marks them as."""

import re
from pathlib import Path

import nbformat
import pytest

from nbjudge.course import open_course

COURSE = open_course(Path(__file__).parents[1])
NOTEBOOKS = list(COURSE.assignments.values())
# The first page is made like a lesson and has no exercises; every other notebook must have some.
LESSONS = [notebook for notebook in NOTEBOOKS if notebook.folder != "00_start_here"]
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name}-{exercise.name}")
    for lesson in LESSONS
    for exercise in lesson.exercises.values()
]
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS", re.DOTALL)
SOLUTION = re.compile(r"[ ]*### BEGIN SOLUTION\n(.*?)[ ]*### END SOLUTION", re.DOTALL)
SCHEME = re.compile(r"### BEGIN MARK SCHEME\n(.*?)### END MARK SCHEME", re.DOTALL)
CHECK = re.compile(r'^check\("(\w+)"\)\.points$', re.MULTILINE)

every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
every_exercise = pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
every_notebook = pytest.mark.parametrize("lesson", NOTEBOOKS, ids=lambda lesson: lesson.name)


def marks_of(cell):
    return cell.metadata.get("nbgrader", {})


def code_of(cell):
    """A code cell without magics, which are no Python."""
    return re.sub(r"^\s*[%!].*$", "", cell.source, flags=re.MULTILINE)


def release_of(lesson):
    return nbformat.read(COURSE.root / "release" / lesson.folder / f"{lesson.name}.ipynb", as_version=4)


def answer_cells(notebook):
    return {c.id: c for c in notebook.cells if c.cell_type == "code" and marks_of(c).get("solution")}


def graded_code_cells(notebook):
    graded = [c for c in notebook.cells if c.cell_type == "code" and marks_of(c).get("grade")]
    return [cell for cell in graded if not is_prediction(cell)]


def is_prediction(cell):
    """Whether a cell asks a question: it is graded, by default for no points."""
    return cell.id.startswith("predict-") and cell.cell_type == "code"
