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
    CONFIG,
    FOLDER,
    FULL,
    NOTHING,
    GradedClass,
    after,
    answered,
    cell_of,
    hand_in,
    make_course,
    nbgrader,
    release,
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
# What cannot be graded; `test_submission` has the sentences.
UNGRADABLE = {
    "not json": b"print('hello')",
    "cut off": WHOLE[: len(WHOLE) // 2],
    "other lesson": nbformat.writes(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    ).encode(),
    "nothing": None,
}


@pytest.fixture(scope="session")
def bad_class(once) -> GradedClass:
    return GradedClass(once("bad_class", _hand_in_and_grade))


def _hand_in_and_grade(root: Path) -> None:
    make_course(root, CONFIG + LIMITS)
    for student, work in (FULL_MARKS | BIGGEST_ONLY).items():
        name = "tiny (1).ipynb" if student == "copy (1)" else "tiny.ipynb"
        hand_in(root, student, work(), name)
    for student, raw in UNGRADABLE.items():
        hand_in(root, student, raw)
    (root / "submitted" / HELPER / FOLDER / "my_helper.py").write_text(HELPER_FILE)
    linked = root / "submitted" / "linked" / FOLDER
    (linked / "dangling.py").symlink_to("nowhere.py")
    (linked / "peek.txt").symlink_to(root / "checks" / "tiny.py")
    run = nbgrader(root, "autograde", FOLDER)
    (root / "run.json").write_text(json.dumps({"returncode": run.returncode, "log": run.stderr}))


@pytest.fixture
def run(bad_class) -> SimpleNamespace:
    return SimpleNamespace(**json.loads((bad_class.root / "run.json").read_text()))


def test_no_student_is_left_out(bad_class, run):
    """All have a grade, and no cell waits for a mark by hand."""
    assert run.returncode == 0, run.log[-2000:]
    with Gradebook(f"sqlite:///{bad_class.root / 'gradebook.db'}") as gradebook:
        graded = {
            each.student.id: each.needs_manual_grade for each in gradebook.assignment_submissions(FOLDER)
        }
    assert graded == dict.fromkeys([*FULL_MARKS, *BIGGEST_ONLY, *UNGRADABLE], False)


@pytest.mark.parametrize("student", FULL_MARKS)
def test_honest_work_gets_full_marks(bad_class, student):
    """However it was handed in; a misnamed notebook is said to be misnamed."""
    assert bad_class.points(student) == FULL
    assert "'tiny (1).ipynb'" in bad_class.notebook("copy (1)").cells[0].source


@pytest.mark.parametrize("student", BIGGEST_ONLY)
def test_broken_exercise_costs_itself_only(bad_class, student):
    assert bad_class.points(student) == NOTHING | {"biggest": 1}


@pytest.mark.parametrize(
    ("student", "exercise", "words"),
    [
        ("broken", "double", "There is no `double`"),
        ("broken", "row_sums", "stops with AttributeError at the line `return x.rows`"),
        ("hanging", "row_sums", "The kernel died while `row_sums` ran"),
    ],
)
def test_graded_cell_says_what_broke(bad_class, student, exercise, words):
    assert words in bad_class.reason(student, exercise)


@pytest.mark.parametrize("student", UNGRADABLE)
def test_ungradable_work_is_0_with_the_reason(bad_class, student):
    assert bad_class.points(student) == NOTHING
    reasons = {bad_class.reason(student, exercise) for exercise in FULL}
    assert len(reasons) == 1 and reasons != {""}


def test_link_is_not_followed(bad_class):
    copies = [path for path in (bad_class.root / "autograded").rglob("*") if path.name == "peek.txt"]
    assert not any("tapir" in path.read_text() for path in copies)


def test_record_says_by_a_code_what_hung_and_died(bad_class):
    def read(student: str) -> GradedNotebook:
        return read_graded(bad_class.root / "autograded" / student / FOLDER / "tiny.ipynb")

    hanging, unreadable = read("hanging"), read("not json")
    assert hanging.record.status is Status.COMPLETED
    cells = {cell.cell_id: cell.status for cell in hanging.cells if cell.status is not Status.COMPLETED}
    assert cells["double"] is Status.TIMED_OUT and cells["test_row_sums"] is Status.KERNEL_DIED
    judged = [cell.exercise for cell in hanging.cells if cell.exercise]
    statuses = {each.verdict.exercise: each.status for each in judged}
    assert statuses == dict.fromkeys(FULL, Status.COMPLETED) | {"row_sums": Status.KERNEL_DIED}
    assert unreadable.record.status is Status.NOT_RUN and unreadable.record.reason
    assert {cell.exercise.status for cell in unreadable.cells if cell.exercise} == {Status.NOT_RUN}
