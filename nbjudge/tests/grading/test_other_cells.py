"""Where the gradebook has other cells than a source, nothing is graded, and the sentence says what to do."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbgrader_command import run, run_program
from tiny_course import FOLDER, answered, hand_in, make_course, source, succeed, written_question

from nbjudge.course.configuration import read_config
from nbjudge.course.course import open_course
from nbjudge.errors import CourseError
from nbjudge.grading.prepare import refuse_other_cells
from nbjudge.skeletons.notebooks import new_exercise

pytestmark = pytest.mark.integration
CONFIG = "c.RunAndJudge.build_command = 'nbgrader generate_assignment {assignment}'"


def write(root: Path, lesson: nbformat.NotebookNode) -> None:
    (root / "source" / FOLDER / "tiny.ipynb").write_text(nbformat.writes(lesson))


def reason_of(root: Path) -> str:
    try:
        refuse_other_cells(open_course(root).assignments_in(FOLDER), read_config(root))
    except CourseError as error:
        return str(error)
    return ""


def with_question() -> nbformat.NotebookNode:
    lesson = source()
    lesson.cells.insert(-1, written_question())
    return lesson


def with_points(points: float) -> nbformat.NotebookNode:
    lesson = source()
    for cell in lesson.cells:
        if cell.id == "test_biggest":
            cell.metadata.nbgrader.points = points
    return lesson


def without_last_exercise() -> nbformat.NotebookNode:
    lesson = source()
    lesson.cells = [cell for cell in lesson.cells if "biggest" not in cell.id]
    return lesson


def test_cells_and_points_are_compared_before_a_class_is_graded(tmp_path):
    """With submissions nbgrader takes no other cells, and generate_assignment deletes the release."""
    make_course(tmp_path)
    with (tmp_path / "nbgrader_config.py").open("a") as config:
        config.write(f"\n{CONFIG}\n")
    assert reason_of(tmp_path) == ""
    write(tmp_path, with_question())
    assert (
        "than the gradebook: 'why' is new. Run `nbgrader generate_assignment 01_tiny --force`"
        in reason_of(tmp_path)
    )
    write(tmp_path, without_last_exercise())
    assert "'biggest' is gone, 'test_biggest' is gone" in reason_of(tmp_path)
    write(tmp_path, with_points(4))
    assert "gives other points than the gradebook: 'test_biggest' 4, not 1. Run `" in reason_of(tmp_path)

    write(tmp_path, source())
    hand_in(tmp_path, "ada", answered())
    succeed(tmp_path, "autograde", FOLDER)
    before = (tmp_path / "source" / FOLDER / "tiny.ipynb").read_text()
    with pytest.raises(CourseError, match="01_tiny has submissions in the gradebook"):
        new_exercise(open_course(tmp_path).assignments["tiny"], "another")
    assert (tmp_path / "source" / FOLDER / "tiny.ipynb").read_text() == before
    write(tmp_path, with_question())
    graded = tmp_path / "autograded" / "ada" / FOLDER / "tiny.ipynb"
    for ended in (
        run(tmp_path, "autograde", FOLDER, "--force"),
        run_program(tmp_path, "nbjudge", "grade", FOLDER, "--force"),
    ):
        output = " ".join((ended.stdout + ended.stderr).split())
        assert ended.returncode != 0 and "Traceback" not in output
        assert "Nothing was graded. The source of 01_tiny/tiny has other cells for answers" in output
        assert "`nbgrader db assignment remove 01_tiny --force`" in output
        assert graded.exists()
