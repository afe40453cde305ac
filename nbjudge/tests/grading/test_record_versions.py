"""Records say by a code what became of the work; those of before there were codes are read all the same."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from test_record import graded_cell, json_values, many, verdict

from nbjudge.cell_metadata import own_metadata
from nbjudge.judge.verdict import Finding
from nbjudge.record.graded_cell import read_exercise, write_cell_status, write_verdict
from nbjudge.record.graded_notebook import read_graded, read_record, write_record
from nbjudge.record.schema import VERSION, ExerciseRecord, NotebookRecord
from nbjudge.record.status import Status
from nbjudge.record.version_1 import ANSWER_DIED, ANSWER_LATE
from nbjudge.report.notebooks import Failure, ReportedNotebook, read_reported

LATE, DIED = ANSWER_LATE.format("softmax"), ANSWER_DIED.format("softmax")


@pytest.mark.parametrize("status", Status)
def test_a_record_comes_back_as_it_was_written(status):
    notebook = nbformat.v4.new_notebook()
    record = NotebookRecord(status, "a reason", "a note", 1.5)
    write_record(notebook, record)
    cell = graded_cell(3)
    write_verdict(cell, verdict(True, False), status)
    notebook.cells.append(cell)
    read = nbformat.reads(nbformat.writes(notebook), as_version=4)
    assert read_record(read) == record
    assert read_exercise(read.cells[0]) == ExerciseRecord(verdict(True, False), status)
    assert own_metadata(read)["version"] == VERSION


@many
@given(json_values)
def test_whatever_stands_in_a_records_place_is_read_as_one(found):
    record = read_record({"metadata": {"nbjudge": found}})
    assert record.status in Status and isinstance(record.reason, str)
    with_status = {"status": found, "version": found, "seconds": found, "reason": found}
    assert read_record({"metadata": {"nbjudge": with_status}}).status in Status


@pytest.mark.parametrize(
    ("before", "status"),
    [
        ({"reason": "", "note": "", "half_graded": True}, Status.UNFINISHED),
        ({"reason": "The file is empty.", "note": ""}, Status.NOT_RUN),
        ({"reason": "", "note": "It was renamed.", "seconds": 2.5}, Status.COMPLETED),
        ({"status": "a code of a later version", "version": 99, "reason": ""}, Status.COMPLETED),
    ],
)
def test_a_notebooks_record_of_another_version_has_a_status(before, status):
    assert read_record({"metadata": {"nbjudge": before}}).status is status


def graded(folder: Path, version: int) -> Path:
    """A notebook as each version has it: an answer that hangs, one that kills, a cell that was stopped."""
    late, died, own = graded_cell(3), graded_cell(3), nbformat.v4.new_code_cell("x", id="own-1-1")
    for cell, name, said, status in (
        (late, "late", LATE, Status.TIMED_OUT),
        (died, "died", DIED, Status.KERNEL_DIED),
    ):
        cell.metadata.nbgrader.grade_id = name
        write_verdict(cell, verdict(False, findings=(Finding(said),)), status)
    own.outputs = [nbformat.v4.new_output("error", ename="died", evalue="It died.", traceback=[])]
    write_cell_status(own, Status.KERNEL_DIED)
    notebook = nbformat.v4.new_notebook(cells=[late, died, own])
    write_record(notebook, NotebookRecord(seconds=2.5))
    if version == 1:
        del own.metadata["nbjudge"]
        for holder in (notebook.metadata.nbjudge, *(cell.metadata.nbjudge.verdict for cell in (late, died))):
            del holder["status"], holder["version"]
    path = folder / "one.ipynb"
    path.write_text(json.dumps(notebook))
    return path


@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_say_what_was_stopped(tmp_path, version):
    path = graded(tmp_path, version)
    read = read_graded(path)
    assert [cell.exercise.status for cell in read.cells[:2]] == [Status.TIMED_OUT, Status.KERNEL_DIED]
    assert read.cells[2].status is Status.KERNEL_DIED and read.record.version == version
    reported = read_reported(path)
    assert isinstance(reported, ReportedNotebook)
    assert reported.failures == (
        Failure("a cell of their own", "killed its kernel", "It died."),
        Failure("softmax", "took too long", LATE),
        Failure("softmax", "killed its kernel", DIED),
    )


def test_todays_records_are_read_by_their_codes_and_not_by_their_words(tmp_path):
    cell, own = graded_cell(3), nbformat.v4.new_code_cell("x", id="own-1-1")
    write_verdict(cell, verdict(False, findings=(Finding(LATE),)))
    own.outputs = [nbformat.v4.new_output("error", ename="TimeoutError", evalue="mine", traceback=[])]
    notebook = nbformat.v4.new_notebook(cells=[cell, own])
    write_record(notebook, NotebookRecord())
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps(notebook))
    reported = read_reported(path)
    assert isinstance(reported, ReportedNotebook)
    assert reported.failures == (Failure("a cell of their own", "stops with TimeoutError", "mine"),)
