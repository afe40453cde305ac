"""A class whose notebook is graded in no time: everybody gets 15 points, and some are late."""

import os
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from nbformat import NotebookNode
from nbgrader_command import run_program

CONFIG = """
from nbjudge import configure

c = get_config()
c.CourseDirectory.course_id = "term"
c.RunAndJudge.sandbox = False
c.Course.timezone = "Europe/Vienna"
c.LatePolicy.percent_per_day = 10
configure(c)
"""
# When they handed in, in UTC; the deadline is 22:59. Of eve's work the time is not known.
CLASS = {"ada": "2026-12-02 01:19", "ben": "2026-12-01 20:00", "eve": None, "fay": "2026-12-03 10:00"}


def make_course(root: Path) -> None:
    """A course with one assignment and no students."""
    test = marked_cell("assert a", "t", grade=True, locked=True, points=15, cell_type="code")
    cells = [marked_cell("a = 1", "a", solution=True), test]
    (root / "source/ps1").mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), root / "source/ps1/week.ipynb")
    (root / "nbgrader_config.py").write_text(CONFIG)
    typed(root, "nbgrader", "generate_assignment", "ps1")


def make_class(root: Path) -> None:
    """The course, graded, with an extension that waited for fay's submission."""
    make_course(root)
    typed(root, "nbgrader", "db", "student", "add", "fay", "--first-name=Fay", "--last-name=Wray")
    extension = ["nbjudge", "extend", "fay", "ps1", "--until", "2026-12-03 12:00"]
    assert "ps1 has no deadline that could be extended" in typed(root, *extension, status=1)
    typed(root, "nbjudge", "due", "ps1", "2026-12-01 23:59")
    said = typed(root, *extension)
    assert "fay: ps1 is due 2026-12-03 12:00 CET (2026-12-03 11:00 UTC). It enters the gradebook with" in said
    for student, time in CLASS.items():
        hand_in(root, student, time)
    typed(root, "nbjudge", "grade", "ps1")


def marked_cell(source: str, grade_id: str, **marks: Any) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source, id=grade_id)
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    cell.metadata["nbgrader"] = plain | {"grade_id": grade_id} | marks
    return cell


def hand_in(root: Path, student: str, time: str | None = None) -> Path:
    """Hand in the solution."""
    folder = root / "submitted" / student / "ps1"
    folder.mkdir(parents=True)
    shutil.copy(root / "source/ps1/week.ipynb", folder)
    if time is not None:
        (folder / "timestamp.txt").write_text(f"{time} UTC")
    return folder


def typed(root: Path, *words: str, status: int = 0) -> str:
    """Type a command line in the course's folder; returns what it says, on one line."""
    with patch.dict(os.environ, COLUMNS="250"):
        run = run_program(root, *words)
    assert run.returncode == status, f"{words}\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
    assert "Traceback" not in run.stdout
    return " ".join(run.stdout.split())
