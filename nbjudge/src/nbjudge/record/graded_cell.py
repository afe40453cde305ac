"""The record of an exercise in its graded cell: written once the kernel has ended, and read from there.

nbgrader reads a graded cell's outputs in order: an error or anything on stderr is 0, the first result that
parses as a number is the points. So what the student's own run left there is turned into plain output first,
and the verdict is the only result. The data is in the metadata of the cell (`nbjudge.cell_metadata`), which a
kernel cannot reach. Reading accepts whatever another program or a student may have written there.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from nbjudge.cell_metadata import own_metadata, update_own_metadata
from nbjudge.judge.verdict import Finding, GroupVerdict, Regrade, Verdict
from nbjudge.plain_text import sentence_as_html, without_terminal_codes

if TYPE_CHECKING:
    from nbformat import NotebookNode

CELL = '<td style="padding: 0.1em 1em 0.1em 0; text-align: left">'
# Dollars and backslashes of a student's are no formulas, nor what formulas can be made to do.
FRAME = '<div class="mathjax_ignore tex2jax_ignore">'
_EXERCISE, _STATUS = "verdict", "status"


class Status(StrEnum):
    """The fate of a notebook, a cell or an exercise."""

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"  # a cell or an answer exceeded its time limit
    KERNEL_DIED = "kernel_died"  # a cell or an answer ended its kernel, or exceeded another limit
    NOT_REACHED = "not_reached"  # the notebook's time was used up before this cell
    NOT_RUN = "not_run"  # no cell could be run; `reason` says why
    UNFINISHED = "unfinished"  # the grades are not in the gradebook yet


STOPPED = frozenset({Status.TIMED_OUT, Status.KERNEL_DIED, Status.NOT_REACHED})  # not run to the end


def read_status(value: Any) -> Status | None:
    """The status with this code; None for any other value."""
    return Status(value) if isinstance(value, str) and value in set(Status) else None


@dataclass(frozen=True)
class ExerciseRecord:
    """The verdict on one exercise, and the status of the calls of its answer."""

    verdict: Verdict
    status: Status = Status.COMPLETED

    def as_data(self) -> dict[str, Any]:
        """The record as JSON data for the metadata of the graded cell."""
        return self.verdict.as_data() | {"status": self.status.value}


def as_html(verdict: Verdict) -> str:
    """The verdict as a student reads it: points, what is wrong, which groups agree."""
    rows = "".join(
        f"<tr>{CELL}{'✓' if group.is_earned else '✗'}</td>{CELL}{html.escape(_with_note(group))}</td>"
        f"{CELL}{group.points if group.is_earned else 0:g} of {group.points:g}</td></tr>"
        for group in verdict.groups
    )
    findings = "".join(_finding(finding) for finding in verdict.findings)
    if verdict.regrade is not None:
        judged = f"The judge gave {verdict.judged_points:g}, and said:" if findings else ""
        findings = f"{_finding(Finding(verdict.message, evidence=judged))}{findings}"
    findings = findings or f"<p>{verdict.message}</p>"
    points = f"{verdict.points:g} of {verdict.max_points:g} points"
    return f"{FRAME}<h4>{html.escape(verdict.exercise)}: {points}</h4>{findings}<table>{rows}</table></div>"


def as_text(verdict: Verdict) -> str:
    """The verdict in plain text."""
    lines = [f"{verdict.exercise}: {verdict.points:g} of {verdict.max_points:g} points"]
    lines += [f"  {verdict.message}"] if verdict.regrade is not None else []
    lines += [f"  {finding.sentence} {finding.evidence}".rstrip() for finding in verdict.findings]
    lines += [f"  {_outcome(group)}: {_with_note(group)}" for group in verdict.groups]
    return "\n".join(lines)


def _outcome(group: GroupVerdict) -> str:
    return "agrees" if group.is_earned else "does not count yet" if group.note else "differs"


def _with_note(group: GroupVerdict) -> str:
    return f"{group.name} ({group.note})" if group.note else group.name


def _finding(finding: Finding) -> str:
    evidence = f"<br><small>{sentence_as_html(finding.evidence)}</small>" if finding.evidence else ""
    return f"<p><strong>{sentence_as_html(finding.sentence)}</strong>{evidence}</p>"


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
    from nbformat import from_dict  # slow to import, and not needed to read a record

    # nbformat's `new_output` validates each output, and the notebook is validated as a whole.
    output: NotebookNode = from_dict({"output_type": output_type, **content})
    return output


def _result(verdict: Verdict) -> NotebookNode:
    """The one output that nbgrader reads points from."""
    return _new_output(
        "execute_result",
        metadata={},
        data={"text/plain": f"{verdict.points:g}", "text/html": as_html(verdict)},
        execution_count=None,
    )


def read_exercise(cell: Any) -> ExerciseRecord | None:
    """The record of the exercise in a cell of an autograded notebook; None where none can be read."""
    data: Any = own_metadata(cell).get(_EXERCISE)
    try:
        verdict = msgspec.convert(data, Verdict)
    except (msgspec.ValidationError, OverflowError):  # an integer that no float can hold
        return None
    return ExerciseRecord(verdict, read_status(data.get("status")) or Status.COMPLETED)


def read_verdict(cell: Any) -> Verdict | None:
    """The verdict in a cell of an autograded notebook; None where none can be read."""
    record = read_exercise(cell)
    return None if record is None else record.verdict


def is_verdict(cell: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
    """Return whether the judge wrote this output of a cell, not the student's code."""
    return output.get("output_type") == "execute_result" and read_verdict(cell) is not None


def write_cell_status(cell: NotebookNode, status: Status) -> None:
    """Record what became of a cell that was not run to its end."""
    if status is not Status.COMPLETED:
        update_own_metadata(cell, **{_STATUS: status.value})


def read_cell_status(cell: Any) -> Status:
    """Return what became of a cell, in a notebook that was graded since there are statuses."""
    return read_status(own_metadata(cell).get(_STATUS)) or Status.COMPLETED


def _harmless(output: NotebookNode) -> NotebookNode:
    """The same output in a form that nbgrader reads no points from."""
    if output.output_type == "error":
        printed = without_terminal_codes("\n".join(output.traceback))
        return _new_output("stream", name="stdout", text=f"{printed}\n")
    if output.output_type == "stream":
        return _new_output("stream", name="stdout", text=output.text)
    return _new_output("display_data", data=output.data, metadata={})
