"""Another id, two ids that are one student, a roster; and a change that is killed between any two steps."""

import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from rich.console import Console
from term_class import make_class, typed
from traitlets.config import Config

from nbjudge.course import open_course, student_change
from nbjudge.course.student_change import JOURNAL, read_earlier_ids, seed_student
from nbjudge.grading.job import make_job
from nbjudge.settings import GradingSettings
from nbjudge.term.roster import Student, find_student, read_roster
from nbjudge.term.students import Class

pytestmark = pytest.mark.integration
FIELDS = ("id", "first_name", "last_name", "email", "lms_user_id")
DECISION = {
    "exercise": "t",
    "answer": "x",
    "student": "fay",
    "points": 1.0,
    "reason": "r",
    "day": "d",
    "groups": {},
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("graded")
    make_class(root)
    typed(root, "nbgrader", "generate_feedback", "ps1")
    (root / "regrades").mkdir()
    (root / "regrades/ps1.json").write_text(json.dumps([DECISION]))
    return root


@pytest.fixture
def course(graded, tmp_path) -> Path:
    return shutil.copytree(graded, tmp_path / "course")


def state(root: Path) -> dict[str, Any]:
    """All that a change of ids concerns: files by path, and the gradebook."""
    steps = ("submitted", "autograded", "feedback", "regrades", "extensions")
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for step in steps
        for path in sorted((root / step).rglob("*"))
        if path.is_file()
    }
    seeds = root / ".seed-students.json"
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        students = sorted(tuple(getattr(each, name) for name in FIELDS) for each in gradebook.students)
        work = sorted(
            (each.student_id, each.score, str(each.extension), str(each.timestamp))
            for each in gradebook.assignment_submissions("ps1")
        )
    return files | {"students": students, "work": work, "seeds": seeds.exists() and seeds.read_text()}


def test_a_renamed_student_keeps_everything(course):
    before = state(course)
    shown = typed(course, "nbjudge", "student", "rename", "fay", "fay wray", "--dry-run")
    assert "submitted/, autograded/, feedback/, 15 of 15 points, handed in 2026-12-03 10:00:00 UTC, " in shown
    assert "a decision on points, an extension" in shown and state(course) == before
    typed(course, "nbjudge", "student", "rename", "fay", "fay wray")
    after = state(course)
    moved = {name.replace("/fay/", "/fay wray/"): text for name, text in before.items() if "/" in name}
    named = {"feedback/fay wray/ps1/week.html", "regrades/ps1.json", "extensions/ps1.json"}
    assert {name for name in moved.keys() | after.keys() if moved.get(name) != after.get(name)} == {
        "students",
        "work",
        "seeds",
        *named,
    }
    for name in named:
        old, new = (b"".join(files[name].split()) for files in (moved, after))
        assert b"faywray" in new and new.replace(b"faywray", b"fay") == old
    assert ("fay wray", "Fay", "Wray", None, None) in after["students"] and len(after["students"]) == 4
    assert [row[1:] for row in after["work"]] == [row[1:] for row in before["work"]]
    assert not (course / "submitted/fay").exists() and not (course / JOURNAL).exists()
    said = typed(course, "nbjudge", "grade", "ps1")
    assert "all 4 are graded, and unchanged since" in said and "older than their grades" not in said


def test_seeds_stay_what_they_were(course):
    """Also after a second change and the way back; another student's are none of theirs."""
    notebook = nbformat.read(course / "submitted/fay/ps1/week.ipynb", 4)
    (assignment,) = open_course(course).assignments_in("ps1")
    seed = make_job(notebook, assignment, GradingSettings(), "fay").seed
    page = course / "feedback/f2/ps1/week.html"
    for old, new in (("fay", "f'1"), ("f'1", "f2")):
        typed(course, "nbjudge", "student", "rename", old, new)
        assert seed_student(course, "ps1", new) == "fay"
    assert make_job(notebook, assignment, GradingSettings(), "f2").seed == seed
    assert make_job(notebook, assignment, GradingSettings(), "ada").seed != seed
    assert "Feedback for f2 ·" in page.read_text()
    assert seed_student(course, "ps2", "f2") == "f2" and seed_student(course, "ps1", "ada") == "ada"
    typed(course, "nbjudge", "student", "rename", "f2", "fay")
    assert seed_student(course, "ps1", "fay") == "fay"


def test_two_ids_become_one_student(course):
    """What the new one lacks comes from the old."""
    typed(course, "nbgrader", "db", "student", "add", "fay2", "--email=fay@x.org", "--last-name=Gray")
    typed(course, "nbjudge", "student", "merge", "fay", "fay2")
    after = state(course)
    assert ("fay2", "Fay", "Gray", "fay@x.org", None) in after["students"] and len(after["students"]) == 4
    assert "submitted/fay2/ps1/week.ipynb" in after and [row[0] for row in after["work"]][-1] == "fay2"


def test_a_conflict_lists_both_sides(course):
    before = state(course)
    said = typed(course, "nbjudge", "student", "merge", "ada", "fay", status=1)
    assert "15 of 15 points, handed in 2026-12-02 01:19:00 UTC" in said
    assert (
        "handed in 2026-12-03 10:00:00 UTC" in said and "Both have work in ps1: nothing was changed." in said
    )
    for words, sentence in (
        (["rename", "ada", "fay"], "There is a student 'fay' already"),
        (["rename", "adda", "x"], "There is no student 'adda'. Did you mean ada?"),
        (["rename", "ada", "../x"], "cannot be a student's id"),
        (["merge", "ada", "x"], "There is no other student 'x'"),
    ):
        assert sentence in typed(course, "nbjudge", "student", *words, status=1)
    assert state(course) == before


def killed_at(root: Path, number: int) -> bool:
    """Rename fay in a process that is killed before its step of this number; False if it has fewer."""
    process = os.fork()
    if process == 0:
        steps_of = student_change.steps_of

        def steps(*arguments):
            for at, step in enumerate(steps_of(*arguments)):
                if at == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield step

        student_change.steps_of = steps
        try:
            os.chdir(root)
            Class(root, Console(quiet=True), dry_run=False).rename("fay", "f2")
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def test_a_killed_change_is_finished_by_the_next_command(graded, tmp_path):
    whole = shutil.copytree(graded, tmp_path / "whole")
    assert not killed_at(whole, 99)
    expected = state(whole)
    assert "submitted/f2/ps1/week.ipynb" in expected
    number = 0
    while True:
        root = shutil.copytree(graded, tmp_path / f"killed {number}")
        if not killed_at(root, number):
            break
        assert (root / JOURNAL).exists() and (number == 0 or state(root) != state(graded))
        said = typed(root, "nbjudge", "config", "--changed")
        assert "The change of fay to f2, which was interrupted, is finished." in said
        assert state(root) == expected and not (root / JOURNAL).exists()
        number += 1
    assert number == 8  # the gradebook, four files, three folders


def test_nbgrader_finishes_a_killed_change_first(course):
    assert killed_at(course, 5)
    typed(course, "nbgrader", "autograde", "ps1")
    assert not (course / JOURNAL).exists() and not (course / "submitted/fay").exists()


def test_nothing_is_changed_without_the_gradebook(course):
    """The gradebook comes first: where it is locked, the journal goes again."""
    before = state(course)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        gradebook.find_student("ada").first_name = "x"
        gradebook.db.flush()  # which holds the lock
        said = typed(course, "nbjudge", "student", "rename", "fay", "f2", status=1)
        gradebook.db.rollback()
    assert "cannot be written (database is locked): nothing was changed." in said
    assert state(course) == before and not (course / JOURNAL).exists()


ROSTERS = {
    "ours": (
        "id;first_name;last_name;email\nada;Ada;Lovelace;ada@x.org\n",
        ("ada", "Ada", "Lovelace", "ada@x.org", ""),
    ),
    "canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section,ps1 (12)\n    Points Possible,,,,,15\n"
        '"Lovelace, Ada",101,,ada,A,\n',
        ("ada", "Ada", "Lovelace", "", "101"),
    ),
    "moodle": (
        '"First name","Last name","Username","Email address"\n"Ada","Lovelace","ada","ada@x.org"\n',
        ("ada", "Ada", "Lovelace", "ada@x.org", ""),
    ),
    "worksheet": (
        'Identifier,"Full name","Email address",Status\n"Participant 7","Ada King Lovelace",ada@x.org,-\n',
        ("ada@x.org", "Ada King", "Lovelace", "ada@x.org", ""),
    ),
}


@pytest.mark.parametrize(("text", "fields"), ROSTERS.values(), ids=ROSTERS)
def test_platforms_tables_are_read(tmp_path, text, fields):
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8-sig")
    columns = {"id": "Email address"} if "Identifier" in text else {}
    *_, row = read_roster(tmp_path / "roster.csv", Config(Course={"roster_columns": columns}), ["id"])
    assert (row.id, *row.fields().values()) == fields


def test_who_a_row_is_about():
    ada = Student("ada", "Ada", "Lovelace", "ada@x.org", "101")
    ben = Student("Ben Li")  # collected from an archive of Moodle's
    for row in (
        Student("ada"),
        Student(email="ADA@x.org"),
        Student(lms_user_id="101"),
        Student(name="Lovelace, Ada"),
    ):
        assert find_student(row, [ada, ben]) == ada
    assert find_student(Student("ben", name="Ben Li", email="b@x.org"), [ada, ben]) == ben
    namesake = replace(ada, id="ada2", email="other@x.org", lms_user_id="")
    assert find_student(namesake, [ada, ben]) is None
    assert find_student(Student(name="Ada Lovelace"), [ada, replace(namesake, id="x")]) is None


def test_a_roster_is_imported_once(course):
    rows = ["ada,Ada,Lovelace,ada@x.org", "gil,Gil,Li,gil@x.org", "f.wray,Fay,Wray,f@x.org"]
    (course / "roster.csv").write_text("\n".join(["id,first_name,last_name,email", *rows]))
    before = state(course)
    line = ["nbjudge", "student", "import", "roster.csv"]
    dry = typed(course, *line, "--dry-run")
    assert (
        "gil new first_name: Gil" in dry and "ada changed first_name: Ada" in dry and state(course) == before
    )
    said = typed(course, *line)
    assert "2 of 3 students in roster.csv are new or changed." in said
    assert "another id so far, left out until you type nbjudge student rename fay f.wray." in said
    typed(course, "nbjudge", "student", "rename", "fay", "f.wray")
    assert "1 of 3 students" in typed(course, *line) and "0 of 3 students" in typed(course, *line)
    assert ("f.wray", "Fay", "Wray", "f@x.org", None) in state(course)["students"]
    assert json.loads((course / ".seed-students.json").read_text()) == {"ps1": {"f.wray": "fay"}}


def test_a_platform_keeps_the_earlier_id(course):
    """Its roster is about the student of the new one, or the one that is left of two."""
    for old, new in (("fay", "f1"), ("f1", "f2")):
        typed(course, "nbjudge", "student", "rename", old, new)
    assert read_earlier_ids(course) == {"fay": "f2", "f1": "f2"}
    typed(course, "nbgrader", "db", "student", "add", "gil")
    typed(course, "nbjudge", "student", "merge", "gil", "ada")
    rows = ["fay,fay@x.org", "ada,ada@x.org", "gil,gil@x.org"]
    (course / "roster.csv").write_text("\n".join(["id,email", *rows]))
    said = typed(course, "nbjudge", "student", "import", "roster.csv")
    assert "f2 changed email: fay@x.org" in said and "ada changed email: ada@x.org" in said
    assert (
        "2 of 3 students" in said and "Merged with another student of the table, and left out: gil." in said
    )
    typed(course, "nbjudge", "student", "rename", "f2", "fay")
    assert read_earlier_ids(course) == {"f1": "fay", "f2": "fay", "gil": "ada"}
