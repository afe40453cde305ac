"""What is graded: what is new or was changed, and nothing else."""

import io
import json
import os
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from rich.console import Console
from small_class import DUE
from tiny_course import succeed

from nbjudge.batch.changed_submissions import make_plan
from nbjudge.batch.grade_command import Options, grade_class
from nbjudge.course.course import Course
from nbjudge.course.folders import CourseFolders, find_root, read_folders
from nbjudge.errors import CourseError
from nbjudge.submission.files import read_handed_in

LESSON = "01_tiny"


@pytest.fixture
def folders(tmp_path: Path) -> CourseFolders:
    (tmp_path / "source" / LESSON).mkdir(parents=True)
    (tmp_path / "source" / LESSON / "tiny.ipynb").write_text('{"cells": [], "nbformat": 4}')
    return CourseFolders(tmp_path)


def hand_in(folders: CourseFolders, student: str) -> Path:
    folder = folders.submitted(student, LESSON)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.ipynb").write_text("{}")
    return folder


def grade(folders: CourseFolders, student: str, content: object = None) -> Path:
    folder = folders.autograded(student, LESSON)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "tiny.ipynb"
    content = graded(folders, student) if content is None else content
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def graded(folders: CourseFolders, student: str) -> dict[str, object]:
    """A graded notebook that records the digest of what the student has handed in."""
    digest = read_handed_in(folders.submission(student, LESSON), ["tiny.ipynb"]).digest
    return {"cells": [], "metadata": {"nbjudge": {"seed": 1, "digest": digest}}}


def test_what_is_graded(folders):
    """What is new, unfinished, changed or of another grader; not what a student writes of unfinished work."""
    works = {
        "ada": None,
        "cut off": '{"cells": [], "metadata"',
        "empty": "",
        "unfinished": {"cells": [], "metadata": {"nbjudge": {"status": "unfinished", "version": 2}}},
        "other grader": {"cells": [], "metadata": {}},
    }
    for student, work in works.items():
        hand_in(folders, student)
        grade(folders, student, work)
    for student in ("new", "[ab]*"):  # names are no patterns
        hand_in(folders, student)
    os.utime(folders.submitted("ada", LESSON) / "tiny.ipynb")  # content is a change, and a date is none
    for student, file in (("dan", "tiny.ipynb"), ("eve", "timestamp.txt")):
        folder = hand_in(folders, student)
        grade(folders, student)
        (folder / file).write_text("2030-01-02")
        os.utime(folder / file, (0, 0))
    for student, written in (("bob", '"unfinished"'), ("cyd", '"status": "unfinished"')):
        hand_in(folders, student)
        grade(folders, student, graded(folders, student) | {"cells": [{"source": written}]})
    plan = make_plan(folders, LESSON)
    new = ("new", "[ab]*", "cut off", "empty", "unfinished")
    changed = ("other grader", "dan", "eve")
    assert plan.todo == dict.fromkeys(new, "new") | dict.fromkeys(changed, "changed")
    assert plan.unchanged == 3
    assert make_plan(folders, "tiny", "[ab]??", force=True).todo == {"ada": "again", "bob": "again"}


CELL = '{"cell_type": "code", "source": "1", "metadata": {"nbgrader": {"points": %d}}, "outputs": [%d]}'
NOTEBOOK = '{"cells": [%s], "nbformat": 4}'


@pytest.mark.parametrize(
    ("file", "before", "after", "changed"),
    [
        ("checks/tiny.py", "points = 3", "points = 6", "checks/tiny.py"),
        ("checks/tiny/double.py", None, "points = 6", "checks/tiny/double.py"),
        (f"source/{LESSON}/tiny.ipynb", NOTEBOOK % CELL % (3, 1), NOTEBOOK % CELL % (6, 1), None),
        (f"source/{LESSON}/data.csv", "1", "2", f"source/{LESSON}"),
        (f"source/{LESSON}/tiny.ipynb", NOTEBOOK % CELL % (3, 1), NOTEBOOK % CELL % (3, 2), ""),
        ("checks/other.py", "1", "2", ""),
    ],
    ids=["checks", "new checks", "points", "data", "outputs", "another's checks"],
)
def test_what_an_author_changed_is_said(folders, file, before, after, changed):
    """Those who were graded before it keep their grade until they are graded again."""
    path = folders.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        path.write_text(before)
    (folders.root / "checks").mkdir(exist_ok=True)
    (tiny,) = Course(folders.root).assignments_in(LESSON)
    for student in ("ada", "ben", "eve"):
        hand_in(folders, student)
        content = graded(folders, student)
        if student != "eve":  # who was graded by an earlier version, which recorded no such digests
            content["metadata"]["nbjudge"]["material"] = tiny.material
        grade(folders, student, content)
    assert make_plan(folders, LESSON).warning == ""
    path.write_text(after)
    named = file if changed is None else changed
    expected = f"{LESSON}: 2 submissions were graded before {named} changed: `nbjudge grade {LESSON} --force`"
    assert make_plan(folders, LESSON).warning == (f"{expected} grades them again." if named else "")
    assert make_plan(folders, LESSON, force=True).warning == ""


def test_what_cannot_be_planned_is_an_error(folders):
    with pytest.raises(CourseError, match=r"no assignment '09_none'. There are: 01_tiny\."):
        make_plan(folders, "09_none")
    with pytest.raises(CourseError, match="No student has handed in 01_tiny"):
        make_plan(folders, LESSON)
    hand_in(folders, "ada")
    with pytest.raises(CourseError, match="None of the 1 students .* matches 'b\\*'"):
        make_plan(folders, LESSON, "b*")
    (folders.root / "nbgrader_config.py").write_text("c = get_confg()")
    with pytest.raises(CourseError, match="does not load: NameError"):
        find_root(folders.root)
    with pytest.raises(CourseError, match="not inside a course"):
        find_root(Path("/usr"))


@pytest.mark.integration
def test_nothing_slow_is_imported_for_nothing(folders):
    (folders.root / "nbgrader_config.py").write_text("c = get_config()")
    hand_in(folders, "ada")
    grade(folders, "ada")
    code = (
        "import sys\n"
        "from nbjudge.cli import app\n"
        f"app(['grade', '{LESSON}'], standalone_mode=False)\n"
        "assert not {'torch', 'nbgrader', 'nbformat', 'numpy', 'distributed'} & set(sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=folders.root, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "all 1 are graded, and unchanged since" in run.stdout


def penalised(root: Path, due: datetime | None = None) -> list[str]:
    """Return who has a late penalty in the gradebook, after the due date is moved, if so."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        if due is not None:
            gradebook.update_or_create_assignment(LESSON, duedate=due)
        submissions = gradebook.assignment_submissions(LESSON)
        return sorted(
            submission.student.id for submission in submissions if submission.late_submission_penalty
        )


@pytest.mark.integration
def test_penalties_follow_a_moved_due_date(graded_one_by_one, tmp_path):
    """No notebook is run for it, by either command."""
    root = tmp_path / "course"
    shutil.copytree(graded_one_by_one, root)
    before = {file: file.stat().st_mtime_ns for file in (root / "autograded").rglob("*.ipynb")}
    printed = io.StringIO()

    def grade_again() -> None:
        grade_class(read_folders(root), LESSON, Options(), Console(file=printed, width=300))

    assert penalised(root) == ["late"]
    grade_again()
    assert "11 are graded, and unchanged" in printed.getvalue() and "penalties" not in printed.getvalue()
    penalised(root, DUE + timedelta(days=1))
    grade_again()
    assert "Late penalties follow the dates as they are now, for: late." in printed.getvalue()
    assert penalised(root) == []
    penalised(root, DUE - timedelta(days=1))
    succeed(root, "autograde", LESSON)
    assert penalised(root) == ["in time", "late"]
    assert before == {file: file.stat().st_mtime_ns for file in (root / "autograded").rglob("*.ipynb")}
