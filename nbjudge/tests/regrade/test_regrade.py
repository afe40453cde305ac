"""A verdict changed by an instructor: for all who gave that answer, for good, with its reason."""

from __future__ import annotations

import io
import json
import re

import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run_program
from rich.console import Console
from tiny_course import (
    FOLDER,
    NAME,
    GradedClass,
    answered,
    hand_in,
    make_course,
    source,
    succeed,
    without_ids,
)

from nbjudge.batch.grade_command import Options, grade_class
from nbjudge.batch.regrade import regrade, withdraw
from nbjudge.course.course import open_course
from nbjudge.course.folders import CourseFolders, read_folders
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.grading.regrades import read_decisions
from nbjudge.report import write_report

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything

HALF = "def double(x):\n    return x * 1"
THE_SAME = "def double(x):  # mine\n\n    return (x   *   1)"
ANOTHER = "def double(x):\n    return x - 0"
ANSWERS = {
    "ada": HALF,
    "Zoë O'Brien": THE_SAME,
    "ben": "def double(x):\n    return x + 0",
    "eve": "def double(x):\n    return x + x",
}
JUDGED = {"ada": 0, "Zoë O'Brien": 0, "ben": 0, "eve": 2}
REASON = "The statement could be read as `x` itself."


def doubles(root):
    return {student: GradedClass(root).points(student)["double"] for student in JUDGED}


def said_by(done):
    return " ".join(done.stdout.split())


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Two students with one wrong answer, one with another, one with a right one; no cell has an id."""
    root = tmp_path_factory.mktemp("regraded")
    make_course(root, lesson=without_ids(source()))
    for student, text in ANSWERS.items():
        hand_in(root, student, without_ids(answered(double=text)))
    succeed(root, "autograde", FOLDER)
    assert doubles(root) == JUDGED
    return root


@pytest.fixture
def decide(graded):
    """Decide in this process, for the class; without points, take back what was decided."""

    def run(student, points):
        course, console = open_course(graded), Console(quiet=True)
        if points is None:
            return withdraw(course, "double", student, console)
        return regrade(course, "double", student, points, REASON, console)

    return run


def who_made_the_mistake(root, monkeypatch):
    monkeypatch.chdir(root)
    write_report(read_folders(root), FOLDER, root / "out", False, Console(quiet=True), (), CsvFormat())
    tables = json.loads((root / "out" / "report.json").read_text())["tables"]
    return [row["students"] for row in tables["mistakes"] if row["exercise"] == "double"]


def test_a_decision_is_for_all_who_gave_the_answer(graded, decide, monkeypatch):
    """It holds until it is taken back."""
    done = run_program(graded, "nbjudge", "regrade", "double", "ada", "--points", "1.5", "--reason", REASON)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "double: this answer gets 1.5 of 2. Given by 2: Zoë O'Brien, ada." in said_by(done)
    regraded = {"ada": 1.5, "Zoë O'Brien": 1.5, "ben": 0, "eve": 2}
    assert doubles(graded) == regraded
    verdict = GradedClass(graded).verdict("ada", "double")
    assert verdict["regrade"]["reason"] == REASON and verdict["points"] == 1.5
    assert who_made_the_mistake(graded, monkeypatch) == [3]

    # The students read the reason, and the judge's own words stay.
    succeed(graded, "generate_feedback", FOLDER)
    for student, told in (("ada", True), ("Zoë O'Brien", True), ("ben", False)):
        page = (graded / "feedback" / student / FOLDER / f"{NAME}.html").read_text()
        assert ("Your instructor changed this verdict: The statement could be read as" in page) == told
        assert ("By the groups alone it would be 0 of 2 points" in page) == told
        assert "Not one quagga was doubled" in page

    # It holds at the next grading; another answer of the same student's is judged as anybody's.
    hand_in(graded, "ada", without_ids(answered(double=ANOTHER)))
    succeed(graded, "autograde", FOLDER, "--force")
    assert doubles(graded) == regraded | {"ada": 0}

    # Anyone who gets all points by it made no mistake in the report.
    assert decide("Zoë O'Brien", 2) == 0
    assert doubles(graded) == JUDGED | {"Zoë O'Brien": 2}
    assert who_made_the_mistake(graded, monkeypatch) == [2]
    assert decide("Zoë O'Brien", None) == 0
    assert doubles(graded) == JUDGED
    assert not (graded / "regrades" / f"{FOLDER}.json").exists()
    with pytest.raises(CourseError, match="Nothing was decided"):
        decide("Zoë O'Brien", None)


def test_a_grade_given_by_hand_is_above_it(graded, decide):
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("test_double", NAME, FOLDER, "ben")
        grade.manual_score = 0.5
        gradebook.db.commit()
    assert decide("ben", 2) == 0
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("test_double", NAME, FOLDER, "ben")
        assert (grade.auto_score, grade.manual_score, grade.score) == (2, 0.5, 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("treble", "ada", None, REASON), "has an exercise called 'treble'"),
        (("double", "zoe", None, REASON), "no graded answer of zoe to double"),
        (("double", "ada", None, "  "), "Say why, with --reason"),
        (("double", "ada", 3, REASON), "worth 0 to 2 points, not 3"),
        (("double", "ada", float("nan"), REASON), "worth 0 to 2 points, not nan"),
    ],
)
def test_what_cannot_be_decided_changes_nothing(graded, arguments, message):
    before = {path: path.read_bytes() for path in (graded / "regrades").glob("*")}
    with pytest.raises(CourseError, match=re.escape(message)):
        regrade(open_course(graded), *arguments, Console(quiet=True))
    assert {path: path.read_bytes() for path in (graded / "regrades").glob("*")} == before


@pytest.mark.parametrize("text", ["{", "[{}]", '[{"exercise": 1}]', "[[1]]", "3"])
def test_broken_decisions_stop_the_grading(graded, text):
    """The file is named, and what was graded is kept."""
    file = graded / "regrades" / f"{FOLDER}.json"
    backup = file.read_bytes() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    try:
        with pytest.raises(CourseError):
            read_decisions(CourseFolders(graded), FOLDER)
        if text != "{":
            return
        console = Console(file=io.StringIO(), width=500)
        assert grade_class(read_folders(graded), FOLDER, Options("eve", force=True), console) == 1
        assert f"The regrades in {file} cannot be read" in console.file.getvalue()
    finally:
        file.unlink() if backup is None else file.write_bytes(backup)
    assert doubles(graded)["eve"] == 2
