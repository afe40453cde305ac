"""How far a learner is, as the tutor has seen it: lessons, exercises, tries, help, and the mistakes met."""

from __future__ import annotations

import ast
import hashlib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from attention_lab.start.exercises import SavedLesson, read_lessons
from attention_lab.tutor.memory import Memory, Remembered


class Stand(StrEnum):
    """How an exercise stands."""

    RIGHT = "right"
    CHANGED = "changed since"
    TRIED = "not right yet"
    NEW = "not looked at"


@dataclass(frozen=True)
class Learned:
    """One exercise: how it stands, and what is remembered of it."""

    name: str
    stand: Stand
    kept: Remembered


@dataclass(frozen=True)
class LearnedLesson:
    """A lesson and its exercises in code; written questions are marked by people."""

    lesson: SavedLesson
    exercises: tuple[Learned, ...]

    @property
    def right(self) -> int:
        return sum(each.stand == Stand.RIGHT for each in self.exercises)


def learned(folder: Path, memory: Memory) -> list[LearnedLesson]:
    """Every lesson in a work folder, by what the tutor has said of it."""
    kept = memory.all()
    return [
        LearnedLesson(lesson, tuple(_stand(lesson, name, kept) for name in lesson.exercises_in_code))
        for lesson in read_lessons(folder)
    ]


def next_exercise(lessons: list[LearnedLesson]) -> tuple[LearnedLesson, Learned] | None:
    """The first exercise that is not right; None where all are."""
    for lesson in lessons:
        for exercise in lesson.exercises:
            if exercise.stand != Stand.RIGHT:
                return lesson, exercise
    return None


def _stand(lesson: SavedLesson, name: str, kept: dict[str, Remembered]) -> Learned:
    known = kept.get(name, Remembered())
    if not known.tries:
        return Learned(name, Stand.NEW, known)
    if not known.is_right:
        return Learned(name, Stand.TRIED, known)
    saved = set(digests(lesson.answer_of(name), name))
    return Learned(name, Stand.RIGHT if not saved or known.right_code in saved else Stand.CHANGED, known)


def digests(source: str, name: str) -> Iterator[str]:
    """The digest that `check` makes of an answer, by the saved cell; none where that is not one piece."""
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
