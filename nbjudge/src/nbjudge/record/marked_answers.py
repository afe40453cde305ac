"""Which answers of a graded notebook marks by hand were given for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from nbjudge.cell_metadata import is_added, is_written_by_student, nbgrader_metadata


def read_marked_answers(graded: Path) -> dict[str, str]:
    """Read a digest of each answer that a person may mark, by nbgrader's id of its cell.

    Parameters
    ----------
    graded
        A graded notebook.

    Returns
    -------
    dict
        Equal digests mean that the answer is the same to the letter. A written answer is its cell and the
        student's own text right below it. To a task it is all cells that the student added. To other code it
        is the student's code down to this cell, because what the cell shows may depend on it. Empty if the
        notebook cannot be read.
    """
    try:
        cells = json.loads(graded.read_bytes())["cells"]
        return _marked_answers(cells)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def _marked_answers(cells: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    answers = {}
    code, added = hashlib.sha256(), _content(list(filter(is_added, cells)))
    for number, cell in enumerate(cells):
        marks = nbgrader_metadata(cell)
        if cell["cell_type"] == "code" and is_written_by_student(cell):
            code.update(_content([cell]))
        if marks.get("task"):
            answer = added
        elif marks.get("grade") and cell["cell_type"] == "markdown":
            answer = _content([cell, *takewhile(_is_added_text, cells[number + 1 :])])
        elif marks.get("grade"):
            answer = code.digest()
        else:
            continue
        answers[str(marks.get("grade_id"))] = hashlib.sha256(answer).hexdigest()
    return answers


def _is_added_text(cell: Mapping[str, Any]) -> bool:
    return is_added(cell) and cell["cell_type"] != "code"


def _content(cells: Sequence[Mapping[str, Any]]) -> bytes:
    """The source and the pictures of cells."""
    return json.dumps([("".join(cell["source"]), cell.get("attachments")) for cell in cells]).encode()
