"""Every notebook that nbgrader ships for its tests, and all of its example course, is among those graded."""

from __future__ import annotations

import zipfile
from pathlib import Path

import nbformat
import pytest
from grade_course import content
from nbformat import NotebookNode
from peer_courses import ALL, ARCHIVE, EXAMPLE, EXAMPLE_ARCHIVE, FILES, GUIDE

# As the second problem of the plain example.
THE_SAME_AGAIN = GUIDE / "source" / "ps1_autotest" / "problem2.ipynb"
# What nbgrader itself puts on top of its example's notebooks, as a course setting.
HEADER = GUIDE / "source" / "header.ipynb"
ARCHIVES = (FILES / "notebooks.zip", ARCHIVE / "notebooks.zip")


def graded_files() -> set[Path]:
    handed = [work for assignment in ALL for work in assignment.students.values()]
    notebooks = [notebook for assignment in ALL for notebook in assignment.source.values()]
    notebooks += [notebook for work in handed for notebook in work.values()]
    return {notebook for notebook in notebooks if isinstance(notebook, Path)}


def test_every_notebook_of_nbgraders_tests_is_graded():
    shipped = set(FILES.glob("*.ipynb"))
    assert len(shipped) > 30
    assert shipped <= graded_files()


def test_every_notebook_of_the_example_course_is_graded():
    folders = ("source", "submitted", "downloaded")
    shipped = {file for folder in folders for file in (GUIDE / folder).rglob("*.ipynb")}
    assert shipped - graded_files() == {THE_SAME_AGAIN, HEADER}
    assert THE_SAME_AGAIN.read_bytes() == EXAMPLE.source["problem2"].read_bytes()
    assert HEADER in EXAMPLE.course_files


@pytest.mark.parametrize("archive", ARCHIVES, ids=["of the tests", "of the example"])
@pytest.mark.parametrize("student", ["bitdiddle", "hacker"])
def test_the_archives_hold_the_answers_that_are_graded(archive, student):
    with zipfile.ZipFile(archive) as opened:
        (name,) = (name for name in opened.namelist() if student in name and name.endswith("problem1.ipynb"))
    assert answers(archive / name) == answers(EXAMPLE.students[student]["problem1"])


def test_the_later_attempt_in_the_archive_holds_the_same_answers_too():
    later = EXAMPLE_ARCHIVE.students["hacker-again"]["problem1"]
    assert answers(later) == answers(EXAMPLE.students["hacker"]["problem1"])


def answers(file: Path | NotebookNode) -> dict[str, str]:
    """What a student wrote, by the name of the answer cell."""
    cells = nbformat.reads(content(file).decode(), as_version=4).cells
    marks = [(cell, cell.metadata.get("nbgrader", {})) for cell in cells]
    return {mark["grade_id"]: cell.source for cell, mark in marks if mark.get("solution")}
