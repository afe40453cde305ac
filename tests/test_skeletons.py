"""A new lesson and a new exercise are begun with one command each, and run as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from tiny_course import FOLDER, make_course, succeed

from nbjudge.course.course import open_course
from nbjudge.errors import CourseError
from nbjudge.skeletons.exercise import new_exercise
from nbjudge.skeletons.lesson import new_lesson

LESSON, NAME = "02_more", "doubled"


def typed(root: Path, *words: str) -> str:
    program = Path(sys.executable).with_name("nbjudge")
    run = subprocess.run([program, *words], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A course to which a lesson with two exercises was added by nothing but the commands."""
    root = tmp_path_factory.mktemp("course") / "tiny"
    make_course(root)
    typed(root, "new-lesson", LESSON)
    typed(root, "new-exercise", LESSON, NAME)
    typed(root, "new-exercise", "more", "twice")
    succeed(root, "generate_assignment", LESSON)
    succeed(root, "generate_solution", LESSON)
    return root


def notebook(root: Path, folder: str) -> nbformat.NotebookNode:
    return nbformat.read(root / folder / LESSON / "more.ipynb", as_version=4)


def test_the_exercises_stand_in_their_order_before_the_last_section(root):
    cells = [cell.id for cell in notebook(root, "source").cells]
    texts = [(f"{name}-text", name, f"test_{name}") for name in (NAME, "twice")]
    assert cells == ["title", "setup", *texts[0], *texts[1], "closing"]
    headings = [cell.source.splitlines()[0] for cell in notebook(root, "source").cells if "-text" in cell.id]
    assert headings == [f"## Exercise 2.1 · `{NAME}`", "## Exercise 2.2 · `twice`"]


def test_its_checks_are_sound(root):
    said = typed(root, "try", "more")
    assert "Right answers get full marks, and each mistake is named." in said
    lesson = open_course(root).lessons["more"]
    assert lesson.problems() == [] and set(lesson.exercises) == {NAME, "twice"}


def test_students_get_no_solution_and_the_solution_gets_all_points(root):
    assert "2 * x" not in nbformat.writes(notebook(root, "release"))
    submitted = root / "submitted" / "ada" / LESSON
    submitted.mkdir(parents=True)
    nbformat.write(notebook(root, "solutions"), submitted / "more.ipynb")
    succeed(root, "autograde", LESSON)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        grades = gradebook.find_submission_notebook("more", LESSON, "ada").grades
        assert {grade.name: grade.auto_score for grade in grades} == {f"test_{NAME}": 2, "test_twice": 2}


@pytest.mark.parametrize("folder", ["09-grouped", "9 lives", "_09", "09_", "../09_x", "09_Größe"])
def test_what_is_no_name_for_a_lesson_is_refused(root, folder):
    with pytest.raises(CourseError, match="is no name for a lesson"):
        new_lesson(root / "source", folder)


@pytest.mark.parametrize("folder", [LESSON, "03_tiny"])
def test_no_lesson_is_written_over_and_names_are_unique(root, folder):
    with pytest.raises(CourseError, match="is there already: give the lesson a name of its own"):
        new_lesson(root / "source", folder)
    assert not (root / "source" / "03_tiny").exists()


@pytest.mark.parametrize(
    ("lesson", "name", "sentence"),
    [
        ("more", "two things", "'two things' is no name for a function"),
        ("more", "class", "'class' is no name for a function"),
        ("more", "double", f"{FOLDER} has an exercise 'double' already"),
        ("tiny", "treble", "tiny.py is there already: make it tiny/tiny.py, beside which new files go."),
    ],
)
def test_an_exercise_that_cannot_be_is_refused_and_nothing_is_written(root, lesson, name, sentence):
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.suffix in (".py", ".ipynb")}
    with pytest.raises(CourseError) as caught:
        new_exercise(open_course(root).lessons[lesson], name)
    assert sentence in str(caught.value)
    assert before == {
        path: path.stat().st_mtime_ns for path in root.rglob("*") if path.suffix in (".py", ".ipynb")
    }
