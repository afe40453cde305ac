"""A class whose notebook is graded in no time: everybody gets 15 points, and some are late."""

import shutil
from pathlib import Path

import nbformat
from marked_cells import code
from nbgrader_command import typed

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
    test = code("assert a", "t", grade=True, locked=True, points=15, cell_type="code")
    cells = [code("a = 1", "a", solution=True), test]
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


def hand_in(root: Path, student: str, time: str | None = None) -> Path:
    """Hand in the solution."""
    folder = root / "submitted" / student / "ps1"
    folder.mkdir(parents=True)
    shutil.copy(root / "source/ps1/week.ipynb", folder)
    if time is not None:
        (folder / "timestamp.txt").write_text(f"{time} UTC")
    return folder
