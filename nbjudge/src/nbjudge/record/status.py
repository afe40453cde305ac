"""The status codes of the graded record."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What became of a notebook, of one of its cells, or of an exercise."""

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"  # a cell or an answer took longer than it may
    KERNEL_DIED = "kernel_died"  # a cell or an answer ended its kernel, or used too much and was ended
    NOT_REACHED = "not_reached"  # the time for the notebook was used up before this cell
    NOT_RUN = "not_run"  # nothing of the notebook could be run; the reason says why
    UNFINISHED = "unfinished"  # grading has begun, and its grades are not in the gradebook yet


STOPPED = frozenset({Status.TIMED_OUT, Status.KERNEL_DIED, Status.NOT_REACHED})  # not run to the end


def read_status(value: Any) -> Status | None:
    """The status with this code; None for anything else, such as a code of a later version."""
    return Status(value) if isinstance(value, str) and value in set(Status) else None
