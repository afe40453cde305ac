"""A class that hands in everything wrong that can be handed in wrong, graded by nbgrader's own command.

Nothing honest is lost; what cannot be graded is 0, with one sentence that says why; the class goes on.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v3 import new_code_cell as old_code_cell
from nbformat.v3 import new_notebook as old_notebook
from nbformat.v3 import new_worksheet
from nbgrader.api import Gradebook
from tiny_course import (
    FOLDER,
    FULL,
    NOTHING,
    ROOT,
    GradedClass,
    after,
    answered,
    cell_of,
    hand_in,
    make_course,
    nbgrader,
    release,
    succeed,
    without,
)

from nbjudge.record.graded_cell import Status
from nbjudge.record.graded_notebook import GradedNotebook, read_graded

pytestmark = pytest.mark.integration

LIMITS = "\nc.RunAndJudge.cell_seconds = 12\nc.RunAndJudge.answer_seconds = 12\n"
HELPER = 'Zoë O\'Neil, "Zed" Jr.'
STUB = cell_of(release(), "biggest").source


def vandalised():
    """Graded cells edited, deleted, moved and copied; the set-up cell deleted."""
    work = answered()
    moved = cell_of(work, "test_row_sums")
    copied = nbformat.from_dict(cell_of(work, "test_biggest"))
    copied.id = "copied"
    cell_of(work, "test_biggest").source = "assert False"
    without(work, "setup", "test_double", "test_row_sums")
    return after(after(work, "", moved, "import torch"), "end", copied, copied)


def helped():
    """Helpers of one's own, in a cell and in a file, and all that JupyterLab leaves in a notebook."""
    work = answered(
        double="def double(x):\n    return twice(x)",
        row_sums="from my_helper import table_only\ndef row_sums(x):\n    return table_only(x).sum(-1)",
    )
    after(work, "setup", "def twice(x):\n    return x + x")
    work.metadata.kernelspec = {"name": "my-conda-env", "display_name": "mine", "language": "python"}
    work.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2}}
    test = cell_of(work, "test_double")
    test.outputs = [nbformat.v4.new_output("error", ename="Old", evalue="from long ago", traceback=["Old"])]
    test.metadata.tags = ["skip-execution", "raises-exception"]
    cell_of(work, "double").metadata.tags = ["skip-execution"]
    return work


HELPER_FILE = """
def table_only(x):
    if x.dim() != 2:
        raise ValueError(f"not a table: {tuple(x.shape)}")
    return x
"""


def scattered():
    """One answer written into the test cell, one defined elsewhere, one there twice."""
    right = {name: cell_of(answered(), name).source for name in FULL}
    work = answered(double=cell_of(release(), "double").source, biggest=STUB)
    cell_of(work, "test_double").source = right["double"] + "\nprint(double(torch.ones(2)))"
    without(work, "row_sums")
    copied = nbformat.from_dict(cell_of(work, "biggest"))
    copied.id, copied.source = "copied", right["biggest"]
    return after(after(work, "shown", right["row_sums"]), "biggest", copied)


def foreign_bytes() -> bytes:
    """UTF-16, Windows line ends, no cell ids, no nbgrader metadata, one answer turned to markdown."""
    work = answered()
    cell_of(work, "double").cell_type = "markdown"
    for cell in work.cells:
        marked = cell.metadata.pop("nbgrader", None)
        if cell.id != "double" or not marked:
            del cell["id"]
        cell.source = cell.source.replace("\n", "\r\n")
    return json.dumps(work, indent=1).replace("\n", "\r\n").encode("utf-16")


def old_format() -> bytes:
    cells = [old_code_cell(input=cell.source) for cell in answered().cells if cell.cell_type == "code"]
    return json.dumps(old_notebook(worksheets=[new_worksheet(cells=cells)])).encode()


def broken():
    return answered(double="def double(x)\n    return 2 * x", row_sums="def row_sums(x):\n    return x.rows")


def hanging_and_dying():
    return answered(double="while True:\n    pass", row_sums="import os\ndef row_sums(x):\n    os._exit(1)")


def strange_characters() -> bytes:
    work = answered(double="# \ud800 \x1b[31m\ndef double(x):\n    return 2 * x")
    after(work, "double", "print(chr(0xD800), chr(0), 'é')", "\x00")
    return json.dumps(work).encode()


FULL_MARKS = {
    "honest": answered,
    "vandal": vandalised,
    HELPER: helped,
    "scattered": scattered,
    "foreign bytes": foreign_bytes,
    "old format": old_format,
    "strange characters": strange_characters,
    "copy (1)": answered,
    "linked": answered,
}
BIGGEST_ONLY = {"broken": broken, "hanging": hanging_and_dying}
WHOLE = json.dumps(answered()).encode()
# What cannot be graded, and words of the sentence that says why.
UNGRADABLE = {
    "not json": (b"print('hello')", "is not a notebook"),
    "empty": (b"", "is empty"),
    "cut off": (WHOLE[: len(WHOLE) // 2], "breaks off in the middle"),
    "too new": (json.dumps(answered() | {"nbformat": 5}).encode(), "newer than this grader reads"),
    "no cells": (b'{"cells": 3, "nbformat": 4}', "holds no cells"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00", "is not text"),
    "other lesson": ((ROOT / "release/01_dot_product/dot_product.ipynb").read_bytes(), "another notebook"),
    "nothing": (None, "it is empty"),
    "only text": (None, "'answers.txt'"),
}


@pytest.fixture(scope="session")
def bad_class(once) -> GradedClass:
    return GradedClass(once("bad_class", _hand_in_and_grade))


def _hand_in_and_grade(root: Path) -> None:
    make_course(root, (ROOT / "nbgrader_config.py").read_text() + LIMITS)
    for student, work in (FULL_MARKS | BIGGEST_ONLY).items():
        name = "tiny (1).ipynb" if student == "copy (1)" else "tiny.ipynb"
        hand_in(root, student, work(), name)
    for student, (raw, _) in UNGRADABLE.items():
        hand_in(root, student, raw)
    (root / "submitted" / HELPER / FOLDER / "my_helper.py").write_text(HELPER_FILE)
    (root / "submitted" / "only text" / FOLDER / "answers.txt").write_text("def double(x): ...")
    linked = root / "submitted" / "linked" / FOLDER
    (linked / "dangling.py").symlink_to("nowhere.py")
    (linked / "peek.txt").symlink_to(root / "checks" / "tiny.py")
    run = nbgrader(root, "autograde", FOLDER)
    (root / "run.json").write_text(json.dumps({"returncode": run.returncode, "log": run.stderr}))


@pytest.fixture
def run(bad_class) -> SimpleNamespace:
    return SimpleNamespace(**json.loads((bad_class.root / "run.json").read_text()))


def test_the_command_succeeds_and_leaves_no_student_out(bad_class, run):
    assert run.returncode == 0, run.log[-2000:]
    with Gradebook(f"sqlite:///{bad_class.root / 'gradebook.db'}") as gradebook:
        graded = {submission.student.id for submission in gradebook.assignment_submissions(FOLDER)}
    assert graded == {*FULL_MARKS, *BIGGEST_ONLY, *UNGRADABLE}


@pytest.mark.parametrize("student", FULL_MARKS)
def test_honest_work_gets_full_marks_however_it_was_handed_in(bad_class, student):
    assert bad_class.points(student) == FULL


@pytest.mark.parametrize("student", BIGGEST_ONLY)
def test_an_exercise_that_breaks_hangs_or_dies_costs_itself_only(bad_class, student):
    assert bad_class.points(student) == NOTHING | {"biggest": 1}


@pytest.mark.parametrize(
    ("student", "exercise", "words"),
    [
        ("broken", "double", "There is no `double`"),
        ("broken", "row_sums", "stops with AttributeError at the line `return x.rows`"),
        ("hanging", "double", "There is no `double`"),
        ("hanging", "row_sums", "The kernel died while `row_sums` ran"),
    ],
)
def test_what_broke_is_said_in_the_graded_cell(bad_class, student, exercise, words):
    assert words in bad_class.reason(student, exercise)


@pytest.mark.parametrize("student", UNGRADABLE)
def test_what_cannot_be_graded_is_0_with_the_reason_in_every_graded_cell(bad_class, student):
    assert bad_class.points(student) == NOTHING
    for exercise in FULL:
        reason = bad_class.reason(student, exercise)
        assert UNGRADABLE[student][1] in reason
        assert reason.count(". ") == 0
        assert len(reason) < 200


def test_nothing_waits_for_a_mark_by_hand(bad_class):
    with Gradebook(f"sqlite:///{bad_class.root / 'gradebook.db'}") as gradebook:
        waiting = [
            each.student.id for each in gradebook.assignment_submissions(FOLDER) if each.needs_manual_grade
        ]
    assert waiting == []


def test_a_misnamed_notebook_is_graded_and_said_to_be_misnamed(bad_class, run):
    assert "'tiny (1).ipynb'" in bad_class.notebook("copy (1)").cells[0].source
    assert "'tiny (1).ipynb'" in run.log


def test_every_graded_notebook_is_the_lesson_with_each_cell_once(bad_class):
    lesson = [cell.id for cell in release().cells]
    for student in FULL_MARKS:
        cells = bad_class.notebook(student).cells
        assert [cell.id for cell in cells if cell.id in lesson] == lesson, student
        graded = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]
        assert len(graded) == len(FULL), student


def test_a_link_is_not_followed_out_of_the_submission(bad_class):
    copies = [path for path in (bad_class.root / "autograded").rglob("*") if path.name == "peek.txt"]
    assert not any("tapir" in path.read_text() for path in copies)


def test_a_class_can_be_given_feedback(bad_class):
    students = ["copy (1)", "hanging", "only text"]
    for student in students:
        succeed(bad_class.root, "generate_feedback", FOLDER, f"--student={student}")
        page = bad_class.root / "feedback" / student / FOLDER / "tiny.html"
        assert " of 1 points" in page.read_text()  # `biggest` alone is worth as much


def test_the_record_says_by_a_code_what_hung_what_died_and_what_was_not_run(bad_class):
    def read(student: str) -> GradedNotebook:
        return read_graded(bad_class.root / "autograded" / student / FOLDER / "tiny.ipynb")

    hanging, unreadable = read("hanging"), read(next(iter(UNGRADABLE)))
    assert hanging.record.status is Status.COMPLETED
    cells = {cell.cell_id: cell.status for cell in hanging.cells if cell.status is not Status.COMPLETED}
    assert cells["double"] is Status.TIMED_OUT and cells["test_row_sums"] is Status.KERNEL_DIED
    statuses = {
        cell.exercise.verdict.exercise: cell.exercise.status for cell in hanging.cells if cell.exercise
    }
    assert statuses == {
        "double": Status.COMPLETED,
        "row_sums": Status.KERNEL_DIED,
        "biggest": Status.COMPLETED,
    }
    assert unreadable.record.status is Status.NOT_RUN and unreadable.record.reason
    assert {cell.exercise.status for cell in unreadable.cells if cell.exercise} == {Status.NOT_RUN}
