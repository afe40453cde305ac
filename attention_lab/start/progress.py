"""A learner's saved notebooks and, for each exercise in them, what the tutor has found."""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nbjudge.tutor import ExerciseHistory, LearnerRecord

if TYPE_CHECKING:
    from nbjudge.course import PlainCell

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

    @cached_property
    def graded_cells(self) -> tuple[str, ...]:
        """The names of the graded cells; a prediction is called as its cell."""
        return tuple(cell.name for cell in self.cells if cell.marks.get("grade"))

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
    from nbjudge.course import read_plain_cells  # it needs no nbformat, which takes seconds to load

    try:
        lesson = SavedLesson(path, tuple(read_plain_cells(path)))
        _ = lesson.exercises_in_code  # nbgrader's marks may be of any type
        return lesson
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).partition("\n")[0][:120] or type(error).__name__
        advice = "take it from a backup, or rename it and run `attention-lab start` again"
        return SavedLesson(path, (), f"This file cannot be read as a notebook ({reason}): {advice}.")


class Status(StrEnum):
    """The tutor's last result of an exercise."""

    RIGHT = "right"
    CHANGED = "changed since"
    TRIED = "not right yet"
    NEW = "not checked yet"


@dataclass(frozen=True)
class ExerciseProgress:
    """One exercise: its status, and the record of its checks."""

    name: str
    status: Status
    record: ExerciseHistory


@dataclass(frozen=True)
class LessonProgress:
    """A lesson and its exercises in code; people mark the written questions."""

    lesson: SavedLesson
    exercises: tuple[ExerciseProgress, ...]
    predictions: tuple[ExerciseHistory, ...] = ()  # those that were answered

    @property
    def right_at_once(self) -> int:
        """The number of predictions whose first answer was right."""
        return sum(record.is_right and record.tries == 1 for record in self.predictions)

    @property
    def right(self) -> int:
        """The number of exercises that are right."""
        return sum(exercise.status == Status.RIGHT for exercise in self.exercises)


def read_progress(folder: Path, record: LearnerRecord) -> list[LessonProgress]:
    """Return the progress in every lesson of a work folder."""
    records = record.exercises()
    return [
        LessonProgress(
            lesson,
            tuple(_progress(lesson, name, records) for name in lesson.exercises_in_code),
            tuple(records[name] for name in lesson.graded_cells if name in records),
        )
        for lesson in read_lessons(folder)
    ]


def next_exercise(lessons: list[LessonProgress]) -> tuple[LessonProgress, ExerciseProgress] | None:
    """Return the first exercise that is not right; None if all are."""
    for lesson in lessons:
        for exercise in lesson.exercises:
            if exercise.status != Status.RIGHT:
                return lesson, exercise
    return None


def _progress(lesson: SavedLesson, name: str, records: dict[str, ExerciseHistory]) -> ExerciseProgress:
    record = records.get(name, ExerciseHistory())
    if not record.tries:
        return ExerciseProgress(name, Status.NEW, record)
    if not record.is_right:
        return ExerciseProgress(name, Status.TRIED, record)
    saved = set(digests(lesson.answer_of(name), name))
    is_same = not saved or record.right_code in saved
    return ExerciseProgress(name, Status.RIGHT if is_same else Status.CHANGED, record)


def digests(source: str, name: str) -> Iterator[str]:
    """Yield the digest that `check` makes of an answer, from its saved cell, if it can be parsed."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            lines = source.splitlines()[first - 1 : node.end_lineno]
            text = textwrap.dedent("\n".join(lines)).strip()
            yield hashlib.sha256(text.encode()).hexdigest()[:16]
