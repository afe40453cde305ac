"""A learner's saved notebooks and the exercises in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbjudge.course.loading import PlainCell

TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class SavedLesson:
    """A lesson as the learner saved it: its file and cells, or the reason why it cannot be read."""

    path: Path
    cells: tuple[PlainCell, ...] = ()
    problem: str = ""

    @cached_property
    def title(self) -> str:
        """The notebook's heading, or its file if it has none."""
        texts = (cell.source for cell in self.cells if cell.cell_type == "markdown")
        found = next((match for text in texts if (match := TITLE.search(text))), None)
        return found.group(1) if found else f"{self.path.parent.name}/{self.path.name}"

    @cached_property
    def exercises_in_code(self) -> tuple[str, ...]:
        """The names of the exercises with an answer in code, in the notebook's order."""
        return tuple(dict.fromkeys(cell.name for cell in self._answers))

    def answer_of(self, exercise: str) -> str:
        """The saved text of an answer cell; empty if the cell is missing."""
        return next((cell.source for cell in self._answers if cell.name == exercise), "")

    @property
    def _answers(self) -> list[PlainCell]:
        return [cell for cell in self.cells if cell.cell_type == "code" and cell.marks.get("solution")]


def read_lessons(folder: Path) -> list[SavedLesson]:
    """Return the notebooks with exercises in the lesson folders of a work folder, in order."""
    paths = sorted(path for path in folder.glob("*/*.ipynb") if not path.parent.name.startswith("."))
    lessons = [_read(path) for path in paths]
    return [lesson for lesson in lessons if lesson.exercises_in_code or lesson.problem]


def _read(path: Path) -> SavedLesson:
    from nbjudge.course.loading import read_plain_cells  # it needs no nbformat, which takes seconds to load

    try:
        lesson = SavedLesson(path, tuple(read_plain_cells(path)))
        _ = lesson.exercises_in_code  # nbgrader's marks may be of any type
        return lesson
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).partition("\n")[0][:120] or type(error).__name__
        advice = "take it from a backup, or rename it and run `attention-lab start` again"
        return SavedLesson(path, (), f"This file cannot be read as a notebook ({reason}): {advice}.")
