"""What every export needs of nbgrader's gradebook: who, which assignments, and the score that counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from nbjudge.errors import ExportError


@dataclass(frozen=True)
class Grade:
    """One student's score in one assignment; `score` is None where there is none to export."""

    score: float | None
    comments: tuple[str, ...] = ()
    unmarked: bool = False


def select_entries(there: Sequence[Any], names: Sequence[Any], attribute: str, kind: str) -> list[Any]:
    """Those of the gradebook's entries that were asked for, all if none was, in the gradebook's order.

    Raises ExportError, with a sentence, where one that was asked for is not there.
    """
    wanted = [str(name) for name in names]
    known = {str(getattr(entry, attribute)) for entry in there}
    for name in wanted:
        if name not in known:
            raise ExportError(
                f"Nothing was exported: the gradebook has no {kind} {name!r}; `nbgrader db {kind} list` "
                "shows those it has."
            )
    return [entry for entry in there if not wanted or str(getattr(entry, attribute)) in wanted]


def grade_of(gradebook: Gradebook, assignment: str, student: str, with_unmarked: bool) -> Grade:
    """The score less the late penalty, never below 0, as nbgrader's own export has it.

    Work that was not handed in has no score. Work of which a part waits for a person has none either,
    unless `with_unmarked` asks for the points it has so far.
    """
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return Grade(None)
    comments = tuple(
        comment.manual_comment
        for notebook in submission.notebooks
        for comment in notebook.comments
        if comment.manual_comment
    )
    unmarked = bool(submission.needs_manual_grade)
    score = max(0.0, submission.score - (submission.late_submission_penalty or 0.0))
    counts = math.isfinite(score) and (with_unmarked or not unmarked)
    return Grade(score if counts else None, comments, unmarked)


def round_score(number: float) -> float:
    """A score to two places, which is what both platforms keep; whole numbers without a fraction."""
    rounded = round(number, 2)
    return int(rounded) if rounded.is_integer() else rounded
