"""Records hold a status code for the notebook, each cell and each exercise."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from test_record import graded_cell, json_values, many, verdict

from nbjudge.cell_metadata import Origin, mark_origin
from nbjudge.judge.verdict import Finding
from nbjudge.record.graded_cell import (
    ExerciseRecord,
    Status,
    read_exercise,
    write_cell_status,
    write_verdict,
)
from nbjudge.record.graded_notebook import NotebookRecord, read_graded, read_record, write_record
from nbjudge.report.notebooks import Failure, ReportedNotebook, read_reported

TIMED_OUT, DIED = "It took too long.", "It ended its kernel."


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


@many
@given(json_values)
def test_whatever_is_in_a_records_place_is_read_as_one(found):
    record = read_record({"metadata": {"nbjudge": found}})
    assert record.status in Status and isinstance(record.reason, str)
    with_status = {"status": found, "version": found, "seconds": found, "reason": found}
    assert read_record({"metadata": {"nbjudge": with_status}}).status in Status


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"status": "unfinished", "reason": ""}, Status.UNFINISHED),
        ({"status": "a code that does not exist", "version": 99, "reason": ""}, Status.COMPLETED),
        ({}, Status.COMPLETED),
    ],
)
def test_a_record_with_an_unknown_status_counts_as_completed(data, status):
    assert read_record({"metadata": {"nbjudge": data}}).status is status


def test_a_report_tells_a_timeout_from_a_killed_kernel(tmp_path):
    timed_out, died = graded_cell(3), graded_cell(3)
    own = nbformat.v4.new_code_cell("x")
    mark_origin(own, Origin.STUDENT)
    for cell, name, sentence, status in (
        (timed_out, "timed_out", TIMED_OUT, Status.TIMED_OUT),
        (died, "died", DIED, Status.KERNEL_DIED),
    ):
        cell.metadata.nbgrader.grade_id = name
        write_verdict(cell, verdict(False, findings=(Finding(sentence),)), status)
    own.outputs = [nbformat.v4.new_output("error", ename="died", evalue="It died.", traceback=[])]
    write_cell_status(own, Status.KERNEL_DIED)
    path = written(tmp_path, timed_out, died, own)
    read = read_graded(path)
    assert [cell.exercise.status for cell in read.cells[:2]] == [Status.TIMED_OUT, Status.KERNEL_DIED]
    assert read.cells[2].status is Status.KERNEL_DIED
    reported = read_reported(path)
    assert isinstance(reported, ReportedNotebook)
    assert reported.failures == (
        Failure("a cell of their own", "killed its kernel", "It died."),
        Failure("softmax", "took too long", TIMED_OUT),
        Failure("softmax", "killed its kernel", DIED),
    )


def test_the_status_decides_and_not_the_name_of_an_error(tmp_path):
    cell, own = graded_cell(3), nbformat.v4.new_code_cell("x")
    mark_origin(own, Origin.STUDENT)
    write_verdict(cell, verdict(False, findings=(Finding(TIMED_OUT),)))
    own.outputs = [nbformat.v4.new_output("error", ename="TimeoutError", evalue="mine", traceback=[])]
    reported = read_reported(written(tmp_path, cell, own))
    assert isinstance(reported, ReportedNotebook)
    assert reported.failures == (Failure("a cell of their own", "stops with TimeoutError", "mine"),)


def written(folder: Path, *cells) -> Path:
    """The file of a graded notebook with these cells."""
    notebook = nbformat.v4.new_notebook(cells=list(cells))
    write_record(notebook, NotebookRecord(seconds=2.5))
    path = folder / "one.ipynb"
    path.write_text(json.dumps(notebook))
    return path
