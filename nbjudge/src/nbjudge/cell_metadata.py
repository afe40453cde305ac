"""What this package writes into notebooks besides outputs: metadata, the origin of cells, an author's tag.

nbgrader's own metadata (`grade`, `solution`, `points` and so on) are beside these, under `nbgrader`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

KEY = "nbjudge"  # in the metadata of a notebook or of a cell
LEFT_OUT_TAG = "left-out-of-grading"  # an author's, on a cell such as a training run: no answer depends on it
NOTICE_CELL_ID = "from-the-grader"  # of the cell that says what was wrong with a submitted file
_CHECK, _LEFT_OUT, _RELEASED, _ORIGIN, _ANSWER = "check", "left_out", "released", "origin", "answer"
_REMARKS = "remarks"


class Origin(StrEnum):
    """The author of a cell in a merged or graded notebook."""

    COURSE = "course"  # the source notebook; an answer cell keeps this origin
    STUDENT = "student"  # a cell that the student added
    GRADER = "grader"  # the cell that says what was wrong with a submitted file


def own_metadata(holder: Any) -> Mapping[str, Any]:
    """Return what this package wrote into the metadata of a cell or a notebook."""
    return _mapping(_metadata(holder).get(KEY))


def nbgrader_metadata(holder: Any) -> Mapping[str, Any]:
    """Return what nbgrader wrote there."""
    return _mapping(_metadata(holder).get("nbgrader"))


def update_own_metadata(holder: NotebookNode, **entries: Any) -> None:
    """Write entries of this package's into the metadata of a cell or a notebook."""
    holder.metadata[KEY] = {**own_metadata(holder), **entries}


def mark_checked(cell: NotebookNode, exercise: str) -> None:
    """Let the judge check an exercise after this cell."""
    update_own_metadata(cell, **{_CHECK: exercise})


def checked_exercise(cell: Mapping[str, Any]) -> str | None:
    """The exercise that the judge checks after this cell; None if there is none."""
    return own_metadata(cell).get(_CHECK)


def record_answer(cell: NotebookNode, digest: str) -> None:
    """Record in a judged cell which answers are the same as this one."""
    update_own_metadata(cell, **{_ANSWER: digest})


def recorded_answer(cell: Mapping[str, Any]) -> str:
    """The digest that equal answers share; empty where the judge checks nothing after the cell."""
    return str(own_metadata(cell).get(_ANSWER) or "")


def mark_left_out(cell: NotebookNode) -> None:
    """Exclude a cell of the assignment from grading."""
    update_own_metadata(cell, **{_LEFT_OUT: True})


def is_left_out(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell, such as a training run, is left out of grading: no answer needs it."""
    return bool(own_metadata(cell).get(_LEFT_OUT))


def mark_released(cell: NotebookNode, released: str) -> None:
    """Record a digest of the text with which this cell is released to students."""
    update_own_metadata(cell, **{_RELEASED: _digest(released)})


def is_released_text(cell: Mapping[str, Any], text: str) -> bool:
    """Return whether the cell was released to students with exactly this text."""
    return own_metadata(cell).get(_RELEASED) == _digest(text)


def added_cell_id(after: int | str, number: int) -> str:
    """The id of the `number`-th cell that a student added after a position, or after "start"."""
    return f"own-{after}-{number}"


def mark_origin(cell: NotebookNode, origin: Origin) -> None:
    """Record at the merge who a cell comes from. Ids cannot tell: most notebooks have none."""
    update_own_metadata(cell, **{_ORIGIN: origin.value})


def origin_of(cell: Mapping[str, Any]) -> Origin:
    """Return who a cell of a merged or graded notebook comes from: the course, if nothing is recorded."""
    recorded = own_metadata(cell).get(_ORIGIN)
    return next((origin for origin in Origin if origin == recorded), Origin.COURSE)


def record_remarks(notebook: NotebookNode, remarks: Sequence[str]) -> None:
    """Record in a merged notebook what was unusual about the student's cells, in sentences."""
    update_own_metadata(notebook, **{_REMARKS: list(remarks)})


def recorded_remarks(notebook: Mapping[str, Any]) -> list[str]:
    """Return what was unusual about the student's cells, in sentences."""
    return list(own_metadata(notebook).get(_REMARKS, ()))


def is_added(cell: Mapping[str, Any]) -> bool:
    """Return whether a student added this cell to the assignment's."""
    return origin_of(cell) is Origin.STUDENT


def is_written_by_student(cell: Mapping[str, Any]) -> bool:
    """Return whether the content of this cell is a student's: an answer, or a cell that the student added."""
    return is_added(cell) or bool(nbgrader_metadata(cell).get("solution"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()


def _metadata(holder: Any) -> Mapping[str, Any]:
    return _mapping(holder.get("metadata") if isinstance(holder, Mapping) else None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
