"""The graded record: the result of grading a notebook and each of its exercises, with a status code.

The record is stored in the metadata of graded notebooks and cells (`nbjudge.cell_metadata`). Only this
package writes and reads it. Reading accepts whatever another program or a student may have written there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from nbjudge.judge.verdict import Finding, GroupVerdict, Regrade, Verdict

VERSION = 2  # of the record's format


class Status(StrEnum):
    """What happened to a notebook, a cell or an exercise."""

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
class NotebookRecord:
    """The result of grading a whole notebook.

    Attributes
    ----------
    status
        What happened to the notebook.
    reason
        Why no cell could be run; empty otherwise.
    note
        What was unusual about the submission, for the student.
    seconds
        How long grading took; None if it was not measured.
    digest
        The digest of the submission that was graded.
    remark
        A warning for the person who grades.
    """

    status: Status = Status.COMPLETED
    reason: str = ""
    note: str = ""
    seconds: float | None = None
    digest: str = ""
    remark: str = ""

    def as_data(self) -> dict[str, Any]:
        """The record as JSON data for the metadata of the notebook."""
        return asdict(self) | {"status": self.status.value, "version": VERSION}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> NotebookRecord:
        """Read a record; entries that cannot be read get their defaults."""
        return cls(
            read_status(data.get("status")) or Status.COMPLETED,
            str(data.get("reason") or ""),
            str(data.get("note") or ""),
            _seconds(data.get("seconds")),
            str(data.get("digest") or ""),
            str(data.get("remark") or ""),
        )


@dataclass(frozen=True)
class ExerciseRecord:
    """The verdict on one exercise, and the status of the calls of its answer."""

    verdict: Verdict
    status: Status = Status.COMPLETED

    def as_data(self) -> dict[str, Any]:
        """The record as JSON data for the metadata of the graded cell, with the points for other programs."""
        points = {"points": self.verdict.points, "max_points": self.verdict.max_points}
        return asdict(self.verdict) | points | {"status": self.status.value, "version": VERSION}

    @classmethod
    def from_data(cls, data: Any) -> ExerciseRecord:
        """Read a record. Raises ValueError if `data` is not the record of an exercise."""
        try:
            return cls(_verdict(data), read_status(data.get("status")) or Status.COMPLETED)
        except (LookupError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a record of an exercise: {error}") from error


def _verdict(data: Mapping[str, Any]) -> Verdict:
    return Verdict(
        exercise=_text(data["exercise"]),
        seed=int(data["seed"]),
        groups=tuple(
            GroupVerdict(
                _text(group["name"]), _points(group["points"]), group["agrees"] is True, _text(group["note"])
            )
            for group in data["groups"]
        ),
        findings=tuple(
            Finding(
                _text(finding["sentence"]),
                None if finding["mistake"] is None else _text(finding["mistake"]),
                _text(finding["evidence"]),
            )
            for finding in data["findings"]
        ),
        regrade=_regrade(data.get("regrade")),
    )


def _regrade(data: Any) -> Regrade | None:
    if data is None:
        return None
    return Regrade(_points(data["points"]), _text(data["reason"]), _text(data["day"]))


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < math.inf else None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _points(value: Any) -> float:
    if not math.isfinite(value) or value < 0:
        raise ValueError("not a number of points")
    return float(value)
