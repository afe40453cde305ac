"""A gradebook in PostgreSQL holds what one in SQLite holds, and nbgrader's own commands work with it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from postgresql_server import postgresql, programs
from small_class import DUE, in_gradebook, nbjudge, notebooks
from tiny_course import FOLDER, NAME, nbgrader, succeed

from nbjudge.course.folders import read_folders
from nbjudge.course.gradebook import not_generated_reason

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def url() -> Iterator[str]:
    programs()
    with postgresql() as address:
        yield address


def test_grades_and_commands_are_those_of_sqlite(copy_of_class, graded_one_by_one, url):
    root: Path = copy_of_class
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.CourseDirectory.db_url = {url!r}\n")
    (root / "gradebook.db").unlink()
    assert not_generated_reason(read_folders(root), FOLDER)
    succeed(root, "generate_assignment", FOLDER, "--force")
    assert not not_generated_reason(read_folders(root), FOLDER)
    with Gradebook(url) as gradebook:
        gradebook.update_or_create_assignment(FOLDER, duedate=DUE)

    run = nbjudge(root, "grade", FOLDER, "--workers", "2")
    assert run.returncode == 0, run.stdout
    expected = in_gradebook(graded_one_by_one)
    flags = {cell[2] for about in expected.values() for cell in about.values() if isinstance(cell, tuple)}
    assert flags == {True, False}  # whether a person is needed
    assert [student for student, about in expected.items() if about["late penalty"]] == ["late"]
    assert in_gradebook(root, url) == expected
    assert notebooks(root / "autograded") == notebooks(graded_one_by_one / "autograded")

    second_run = nbgrader(root, "autograde", FOLDER, "--student", "ben", "--force")
    assert second_run.returncode == 0, second_run.stderr[-3000:]
    assert in_gradebook(root, url) == expected
    succeed(root, "generate_feedback", FOLDER, "--student", "ben")
    assert (root / "feedback" / "ben" / FOLDER / f"{NAME}.html").is_file()
    succeed(root, "export")
    with (root / "grades.csv").open(newline="") as grades:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(grades)}
    late_students = {student for student, about in expected.items() if about["late penalty"]}
    assert scores == {
        student: 0 if student in late_students else about["score"] for student, about in expected.items()
    }
    assert not (root / "gradebook.db").exists()
