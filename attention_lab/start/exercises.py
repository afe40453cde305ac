"""A student's saved notebooks, and what of their exercises can be told without running anything."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

import attention_lab

TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


class State(StrEnum):
    """How an exercise stands, as its visible tests tell."""

    PASSES = "passes"
    FAILS = "fails"
    UNTOUCHED = "not begun"
    CHANGED = "not looked at"


@dataclass(frozen=True)
class Outcome:
    """How one exercise stands, and in a sentence why where its tests do not pass."""

    state: State
    said: str = ""


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

    @cached_property
    def untouched(self) -> frozenset[str]:
        """The exercises whose answer cells are still what was released: nbgrader's checksum tells."""
        touched = {_marks(cell).get("grade_id") for cell in self._cells("code") if not _is_released(cell)}
        return frozenset(self.exercises) - touched

    def test_of(self, exercise: str) -> int | None:
        """Where in the notebook the visible tests of an exercise stand; None where they are gone."""
        cells = self.notebook.cells if self.notebook is not None else []
        places = [
            place
            for place, cell in enumerate(cells)
            if cell.cell_type == "code" and _marks(cell).get("grade_id") == f"test_{exercise}"
        ]
        return places[-1] if places else None

    @cached_property
    def fingerprint(self) -> str:
        """What the outcome of the tests depends on, as a short text: cells, given files, versions."""
        cells = self.notebook.cells if self.notebook is not None else []
        known: list[Any] = [[cell.cell_type, cell.source, cell.metadata.get("tags", [])] for cell in cells]
        files = sorted(self.path.parent.glob("*.py"))
        known += [[file.name, hashlib.sha256(file.read_bytes()).hexdigest()] for file in files]
        known += [metadata.version("torch"), attention_lab.__version__]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

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
        _ = lesson.untouched  # nbformat lets pass what has no cells, or marks that are none
        return lesson
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).partition("\n")[0][:120] or type(error).__name__
        advice = "take it from a backup, or rename it and run `attention-lab start` again"
        return SavedLesson(path, None, f"This file cannot be read as a notebook ({reason}): {advice}.")


def _marks(cell: NotebookNode) -> dict[str, Any]:
    marks: dict[str, Any] = cell.metadata.get("nbgrader", {})
    return marks


def _is_released(cell: NotebookNode) -> bool:
    return bool(_marks(cell)) and _marks(cell).get("checksum") == checksum(cell)


def checksum(cell: NotebookNode) -> str:
    """Return the checksum that nbgrader gives a cell: a learner may not have nbgrader."""
    marks = _marks(cell)
    grade, solution = marks.get("grade", False), marks.get("solution", False)
    locked = not solution and (bool(grade) or marks.get("locked", False))
    parts = [cell.source, cell.cell_type, str(grade), str(solution), str(locked), marks["grade_id"]]
    if grade:
        parts.append(str(float(marks["points"])))
    return hashlib.md5("".join(parts).encode(), usedforsecurity=False).hexdigest()
