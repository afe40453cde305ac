"""Which answers are one and the same: equal code, whatever its comments, spaces and line breaks."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from nbjudge.cell_metadata import checked_exercise, is_written_by_student
from nbjudge.parsing import parsed


def answers_of(cells: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By exercise of a rebuilt or graded notebook: a short text that equal answers share.

    An answer is what its student wrote between the judged cell before and the exercise's own: the answer
    cell, and helpers in cells that were added there. A helper further up is not looked at.
    """
    answers: dict[str, str] = {}
    written: list[str] = []
    for cell in cells:
        exercise = checked_exercise(cell)
        if exercise is not None:
            answers[exercise] = _digest(written)
            written = []
        elif cell.get("cell_type") == "code" and is_written_by_student(cell):
            written.append(_plain_code(_text(cell.get("source"))))
    return answers


def _plain_code(source: str) -> str:
    try:
        return ast.unparse(parsed(source))
    except (SyntaxError, ValueError, RecursionError):  # cannot be run; equal only to the very same text
        return source.strip()


def _digest(written: list[str]) -> str:
    code = "\n".join(part for part in written if part)
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _text(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
