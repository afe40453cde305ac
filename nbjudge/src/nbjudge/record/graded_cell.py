"""The record of an exercise in its graded cell: written once the kernel has ended, and read from there.

nbgrader reads a graded cell's outputs in order: an error or anything on stderr is 0, the first
result that parses as a number is the points. So whatever the student's own run left there is
turned into plain output first, and the verdict is the only result. The data is in the
metadata of the cell, which come from the assignment; a kernel has no way to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbjudge.cell_metadata import own_metadata, update_own_metadata
from nbjudge.judge.verdict import Regrade, Verdict
from nbjudge.plain_text import without_terminal_codes
from nbjudge.record.schema import ExerciseRecord, Status, read_status
from nbjudge.record.verdict_text import as_html
from nbjudge.sandbox.inside.cut_outputs import SHOWABLE, text

if TYPE_CHECKING:
    from nbformat import NotebookNode

_EXERCISE, _STATUS = "verdict", "status"


def write_verdict(cell: NotebookNode, verdict: Verdict, status: Status = Status.COMPLETED) -> None:
    """Replace the result of a graded cell by the verdict; what it printed stays readable above it.

    `status` says whether the answers to the exercise came.
    """
    update_own_metadata(cell, **{_EXERCISE: ExerciseRecord(verdict, status).as_data()})
    cell.outputs = [_harmless(output) for output in cell.outputs]
    cell.outputs.append(_result(verdict))


def write_regrade(cell: NotebookNode, regrade: Regrade) -> Verdict:
    """Put an instructor's decision into a cell with a verdict, in place of an earlier one."""
    record = read_exercise(cell)
    if record is None:
        raise ValueError("the cell holds no verdict")
    decided = replace(record.verdict, regrade=regrade)
    update_own_metadata(cell, **{_EXERCISE: ExerciseRecord(decided, record.status).as_data()})
    cell.outputs[-1] = _result(decided)
    return decided


def _new_output(output_type: str, **content: Any) -> NotebookNode:
    from nbformat.v4 import new_output  # slow to import, and not needed to read a record

    return new_output(output_type, **content)


def _result(verdict: Verdict) -> NotebookNode:
    """The one output that nbgrader reads points from."""
    return _new_output(
        "execute_result",
        data={"text/plain": f"{verdict.points:g}", "text/html": as_html(verdict)},
        execution_count=None,
    )


def read_exercise(cell: Any) -> ExerciseRecord | None:
    """The record of the exercise in a cell of an autograded notebook; None where none can be read."""
    try:
        return ExerciseRecord.from_data(own_metadata(cell).get(_EXERCISE))
    except ValueError:
        return None


def read_verdict(cell: Any) -> Verdict | None:
    """The verdict in a cell of an autograded notebook; None where none can be read."""
    record = read_exercise(cell)
    return None if record is None else record.verdict


def is_verdict(cell: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
    """Whether the judge wrote this output of a cell, not the student's code."""
    return output.get("output_type") == "execute_result" and read_verdict(cell) is not None


def write_cell_status(cell: NotebookNode, status: Status) -> None:
    """Record what became of a cell that was not run to its end."""
    if status is not Status.COMPLETED:
        update_own_metadata(cell, **{_STATUS: status.value})


def read_cell_status(cell: Any) -> Status:
    """What became of a cell, in a notebook that was graded since there are statuses."""
    return read_status(own_metadata(cell).get(_STATUS)) or Status.COMPLETED


def _harmless(output: Mapping[str, Any]) -> NotebookNode:
    """The same output, whatever it holds, in a form that nbgrader reads no points from."""
    kind = output.get("output_type")
    if kind == "error":
        lines = output.get("traceback")
        printed = text("\n".join(map(text, lines)) if isinstance(lines, list) else lines)
        printed = without_terminal_codes(printed) + "\n"
        return _new_output("stream", name="stdout", text=printed)
    if kind == "stream":
        return _new_output("stream", name="stdout", text=text(output.get("text")))
    data = output.get("data")
    data = {mime: text(data[mime]) for mime in SHOWABLE if mime in data} if isinstance(data, dict) else {}
    return _new_output("display_data", data=data, metadata={})
