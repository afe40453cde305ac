"""The graded record: what grading says of a notebook and of each exercise, with a version and a status.

It stands in the metadata of graded notebooks and cells, see `nbjudge.cell_metadata`. Only this room writes
it and takes it apart. Whatever an older version, another grader or a student wrote there is read, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nbjudge.judge.verdict import Finding, GroupVerdict, Regrade, Verdict
from nbjudge.record import version_1
from nbjudge.record.status import Status, read_status

VERSION = 2


@dataclass(frozen=True)
class NotebookRecord:
    """What grading says of a whole notebook."""

    status: Status = Status.COMPLETED
    reason: str = ""  # why nothing could be run
    note: str = ""  # what was unusual about what was handed in
    seconds: float | None = None  # None where nobody took the time
    version: int = VERSION
    digest: str = ""  # of what was handed in, when it was read to be graded
    remark: str = ""  # what only the person who grades is told of it

    def as_data(self) -> dict[str, Any]:
        """JSON-ready, for the metadata of the notebook."""
        return asdict(self) | {"status": self.status.value}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> NotebookRecord:
        """Read it, of whatever version; what cannot be read counts as not there."""
        return cls(
            read_status(data.get("status")) or version_1.notebook_status(data),
            str(data.get("reason") or ""),
            str(data.get("note") or ""),
            _seconds(data.get("seconds")),
            _version(data),
            str(data.get("digest") or ""),
            str(data.get("remark") or ""),
        )


@dataclass(frozen=True)
class ExerciseRecord:
    """The verdict on one exercise, and whether its answers came at all."""

    verdict: Verdict
    status: Status = Status.COMPLETED
    version: int = VERSION

    def as_data(self) -> dict[str, Any]:
        """JSON-ready, for the metadata of the graded cell; the points are there for other programs."""
        points = {"points": self.verdict.points, "max_points": self.verdict.max_points}
        return asdict(self.verdict) | points | {"status": self.status.value, "version": self.version}

    @classmethod
    def from_data(cls, data: Any) -> ExerciseRecord:
        """Read it, of whatever version. Raises ValueError where it is no record of an exercise."""
        try:
            verdict = _verdict(data)
            status = read_status(data.get("status")) or version_1.exercise_status(verdict)
            return cls(verdict, status, _version(data))
        except (LookupError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"no record of an exercise: {error}") from error


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


def _version(data: Mapping[str, Any]) -> int:
    version = data.get("version")
    return version if isinstance(version, int) else 1


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
