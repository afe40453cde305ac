"""What records without a version number say: those of before there were statuses, and those of other graders.

Version 1 said in words what has a code now. The words are kept here as they were, for this alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nbjudge.judge.verdict import Verdict
from nbjudge.record.status import Status

HALF_GRADED = "half_graded"  # stood in a notebook's metadata from its first writing to its last
ANSWER_LATE = "`{}` did not answer in time: look for a loop that never ends."
ANSWER_DIED = "The kernel died while `{}` ran, so there is no answer to judge."
# By the name of an error in a cell's outputs; the last two are those of stock nbgrader.
CELL_STATUSES = {
    "died": Status.KERNEL_DIED,
    "skipped": Status.NOT_REACHED,
    "TimeoutError": Status.TIMED_OUT,
    "DeadKernelError": Status.KERNEL_DIED,
    "CellTimeoutError": Status.TIMED_OUT,
}


def notebook_status(data: Mapping[str, Any]) -> Status:
    """The status of a notebook, from its metadata."""
    if data.get(HALF_GRADED):
        return Status.UNFINISHED
    return Status.NOT_RUN if data.get("reason") else Status.COMPLETED


def exercise_status(verdict: Verdict) -> Status:
    """Whether the answers to an exercise came, from what its student was told."""
    sentences = {finding.sentence for finding in verdict.findings}
    if ANSWER_LATE.format(verdict.exercise) in sentences:
        return Status.TIMED_OUT
    return Status.KERNEL_DIED if ANSWER_DIED.format(verdict.exercise) in sentences else Status.COMPLETED


def cell_status(errors: Iterable[str]) -> Status:
    """Whether a cell came to its end, from the names of the errors among its outputs."""
    return next((CELL_STATUSES[name] for name in errors if name in CELL_STATUSES), Status.COMPLETED)
