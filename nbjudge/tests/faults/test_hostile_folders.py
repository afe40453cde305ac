"""No name, path or file keeps anybody from a grade or a sentence: each student by each way of grading."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_folders import (
    BESIDE,
    FULL_MARKS,
    NO_IDS,
    NO_MARKS,
    NO_NOTEBOOK,
    ODD_NOTEBOOKS,
    REFUSED_NOTEBOOKS,
    hand_in_everything,
)
from nbgrader.api import Gradebook
from nbgrader_command import run as nbgrader
from tiny_course import FOLDER, FULL, NOTHING, GradedClass, answered, hand_in, make_course, read_work

from nbjudge.course.folders import invalid_id_reason
from nbjudge.submission.files import MOST_EXTRA_FILES, Folder, read_handed_in

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(900)]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def read(folder: Path, raw: bytes):
    (folder / "tiny.ipynb").write_bytes(raw)
    return read_work(folder)


@pytest.mark.parametrize("kind", ODD_NOTEBOOKS)
def test_honest_work_in_an_odd_file_is_read(tmp_path, kind):
    submission = read(tmp_path, ODD_NOTEBOOKS[kind]())
    assert submission.reason == ""
    assert submission.found_answers == set(FULL)


@pytest.mark.parametrize("kind", REFUSED_NOTEBOOKS)
def test_a_file_that_cannot_be_read_is_refused_in_one_plain_sentence(tmp_path, kind):
    make, words = REFUSED_NOTEBOOKS[kind]
    reason = read(tmp_path, make()).reason
    assert words in reason
    assert len(reason) < 300 and not CONTROL.search(reason)


@pytest.mark.parametrize("student", NO_IDS)
def test_a_name_that_can_be_no_id_is_said_to_be_none(student):
    sentence = invalid_id_reason(student) or ""
    assert "rename the folder" in sentence and not CONTROL.search(sentence)


@pytest.mark.parametrize(
    "character",
    "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\u061c\u00ad\ufeff\u180e\u034f\u3164\u2800"
    "\ufe0f\ufe00\U000e0041\U000e0100\u2066\u202e\u206f\u2028\x85\ue000\uffff",
    ids=ascii,
)
def test_an_id_with_a_character_that_cannot_be_seen_is_refused(character):
    """It would be in the gradebook and the report beside another that looks the same."""
    for student in (f"ad{character}a", f"{character}ada", f"ada{character}"):
        assert "holds characters that cannot be shown" in (invalid_id_reason(student) or "")


@pytest.mark.parametrize(
    "student",
    ["ada", "ada lovelace_123", "José", "Jose\u0301", "李明", "علي", "O'Brien", "x+y@z.org", "भारत"],
)
def test_a_name_in_any_script_is_an_id(student):
    assert invalid_id_reason(student) is None


@pytest.mark.parametrize("kind", BESIDE)
def test_the_files_beside_a_notebook_are_the_same_whatever_order_they_are_found_in(tmp_path, kind):
    BESIDE[kind](hand_in(tmp_path, "ada", answered()))
    folder = tmp_path / "submitted/ada" / FOLDER
    files = read_handed_in(Folder(folder)).files
    assert list(files) == list(read_handed_in(Folder(folder)).files) and len(files) <= MOST_EXTRA_FILES
    assert all(len(os.fsencode(name)) <= 1000 for name in files)


@pytest.fixture(scope="session", params=["nbgrader autograde", "nbjudge grade"])
def graded(request, once) -> tuple[GradedClass, int, str]:
    """The class, graded in one way: what is left of it, the exit status and all words."""
    command = str(request.param).split()

    def grade(folder: Path) -> None:
        root = folder / "course"
        make_course(root)
        hand_in_everything(root)
        run = nbgrader(root, "autograde", FOLDER) if command[0] == "nbgrader" else nbjudge_grade(root)
        (folder / "status").write_text(str(run.returncode))
        (folder / "words").write_text(run.stdout + run.stderr)

    folder = once(command[0], grade)
    return (
        GradedClass(folder / "course"),
        int((folder / "status").read_text()),
        (folder / "words").read_text(),
    )


def nbjudge_grade(root: Path) -> subprocess.CompletedProcess[str]:
    line = [str(Path(sys.executable).parent / "nbjudge"), "grade", FOLDER]
    run = subprocess.run(line, cwd=root, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})
    log = (root / "nbgrader.log").read_text()
    return subprocess.CompletedProcess(line, run.returncode, run.stdout, run.stderr + log)


def test_every_student_has_a_grade_and_no_one_elses_files_decide_it(graded):
    left, _, words = graded
    found = {student: left.points(student) for student in [*FULL_MARKS, *NO_MARKS]}
    assert found == dict.fromkeys(FULL_MARKS, FULL) | dict.fromkeys(NO_MARKS, NOTHING), words[-3000:]
    with Gradebook(f"sqlite:///{left.root / 'gradebook.db'}") as gradebook:
        assert {student.id for student in gradebook.students} == {*FULL_MARKS, *NO_MARKS}


def test_what_got_no_points_has_its_reason_in_every_graded_cell(graded):
    left, _, _ = graded
    for student in NO_MARKS:
        for exercise in FULL:
            reason = left.reason(student, exercise)
            assert reason.endswith(".") and len(reason) < 300, (student, reason)
            assert not CONTROL.search(reason), (student, reason)


def test_a_student_without_a_grade_is_named_with_a_sentence_and_the_run_is_no_success(graded):
    _, status, words = graded
    assert status == 1
    for student in NO_IDS:
        assert str(invalid_id_reason(student)) in words, student


def test_nothing_of_the_names_reaches_the_terminal_or_the_log_but_text(graded):
    _, _, words = graded
    assert not CONTROL.search(words.replace("\r", ""))
    assert "Traceback" not in words


def test_the_notices_of_hostile_names_are_text(graded):
    left, _, _ = graded
    for student in ("misnamed", *NO_NOTEBOOK):
        notice = left.notebook(student).cells[0]
        assert notice.id == "from-the-grader"
        assert "<img" not in notice.source and "\n" not in notice.source
        assert not CONTROL.search(notice.source)
