"""A learner's saved notebooks and the exercises in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class SavedLesson:
    """A lesson as the student saved it: its file, and its notebook, or why that cannot be read."""

    path: Path
    notebook: NotebookNode | None
    problem: str = ""

    @cached_property
    def title(self) -> str:
        texts = (cell.source for cell in self._cells("markdown"))
        found = next((match for text in texts if (match := TITLE.search(text))), None)
        return found.group(1) if found else f"{self.path.parent.name}/{self.path.name}"

    @cached_property
    def exercises(self) -> tuple[str, ...]:
        """The names of the exercises in the notebook's order; each is its answer cell's."""
        answers = (cell for cell in self._cells("code") if _marks(cell).get("solution"))
        return tuple(dict.fromkeys(_marks(cell)["grade_id"] for cell in answers))

    @cached_property
    def exercises_in_code(self) -> tuple[str, ...]:
        """Those whose answers are code; the others are questions that are answered in words."""
        coded = {_marks(cell)["grade_id"] for cell in self._cells("code") if _marks(cell).get("solution")}
        return tuple(name for name in self.exercises if name in coded)

    def answer_of(self, exercise: str) -> str:
        """The saved text of an answer cell; empty where it is gone."""
        cells = (cell for cell in self._cells("code") if _marks(cell).get("solution"))
        return next((cell.source for cell in cells if _marks(cell).get("grade_id") == exercise), "")

    def _cells(self, kind: str) -> list[NotebookNode]:
        return [cell for cell in self.notebook.cells if cell.cell_type == kind] if self.notebook else []


def read_lessons(folder: Path) -> list[SavedLesson]:
    """The notebooks with exercises in the lesson folders of a work folder, in order."""
    paths = sorted(path for path in folder.glob("*/*.ipynb") if not path.parent.name.startswith("."))
    lessons = [_read(path) for path in paths]
    return [lesson for lesson in lessons if lesson.exercises or lesson.problem]


def _read(path: Path) -> SavedLesson:
    try:
        lesson = SavedLesson(path, nbformat.read(path, as_version=4))
        _ = lesson.exercises  # nbformat accepts what has no cells, or marks that are none
        return lesson
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).partition("\n")[0][:120] or type(error).__name__
        advice = "take it from a backup, or rename it and run `attention-lab start` again"
        return SavedLesson(path, None, f"This file cannot be read as a notebook ({reason}): {advice}.")


def _marks(cell: NotebookNode) -> dict[str, Any]:
    marks: dict[str, Any] = cell.metadata.get("nbgrader", {})
    return marks
