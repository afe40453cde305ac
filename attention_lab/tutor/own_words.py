"""Whether a learner has answered a written question themselves, by the notebook as they saved it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOT_YET = (
    "`{exercise}` is answered in words: write your own answer into its cell first and save the notebook "
    "(Ctrl-S). Then run this cell again for a model answer, and questions to ask your own text."
)
FEWEST_WORDS = 15


def has_written(lesson: Path, question: str) -> bool:
    """Whether the saved notebook in a lesson's folder holds an answer of some words to a written question."""
    answers = [
        cell for path in sorted(lesson.glob("*.ipynb")) for cell in _cells(path) if _is(cell, question)
    ]
    return any(len("".join(cell.get("source", "")).split()) >= FEWEST_WORDS for cell in answers)


def _is(cell: dict[str, Any], question: str) -> bool:
    return bool(cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == question)


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        return [cell for cell in cells if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []
