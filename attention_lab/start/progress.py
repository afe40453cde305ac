"""A learner's progress: for each exercise of the saved lessons, what the tutor has found."""

from __future__ import annotations

import ast
import hashlib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from attention_lab.start.exercises import SavedLesson, read_lessons
from nbjudge.tutor import ExerciseHistory, LearnerRecord


class Status(StrEnum):
    """What the tutor has found in an exercise."""

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

    @property
    def right(self) -> int:
        """The number of exercises that are right."""
        return sum(each.status == Status.RIGHT for each in self.exercises)


def read_progress(folder: Path, record: LearnerRecord) -> list[LessonProgress]:
    """Return the progress in every lesson of a work folder."""
    records = record.exercises()
    return [
        LessonProgress(lesson, tuple(_progress(lesson, name, records) for name in lesson.exercises_in_code))
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
