"""What a judge is: `judge(exercise, code)` returns whether it accepts the answer, and its message."""

from __future__ import annotations

import runpy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from answers import Answer
from workers import ChildError, line_of


class JudgeError(Exception):
    """A judge cannot be made, raises an error, or returns something else than it should."""


@dataclass(frozen=True)
class Opinion:
    """A judge's opinion of one answer: whether it is accepted, and the message that a student reads."""

    accepted: bool
    message: str = ""


class Judge(Protocol):
    """An adapter to one judge.

    `name` is its row in the table, `exercises` the names of those that it can judge; others are left out.
    """

    name: str
    exercises: frozenset[str]

    def judge(self, exercise: str, code: str) -> Opinion | None:
        """Judge one answer; None if this answer cannot be translated for the judge."""


@dataclass(frozen=True)
class Judged:
    """One answer, one judge, and how long it took by the clock; `opinion` is None if it was left out."""

    answer: Answer
    judge: str
    opinion: Opinion | None
    seconds: float

    @property
    def is_right(self) -> bool:
        """Return whether a right answer was accepted or a wrong one refused."""
        return self.opinion is not None and self.opinion.accepted == self.answer.is_right


def put_to(judge: Judge, answer: Answer) -> Judged:
    """Put one answer to a judge.

    Raises JudgeError if it raises an error, or returns neither an `Opinion` with a text nor None.
    """
    started = time.perf_counter()
    place = f"The judge {judge.name!r}, asked about {answer.id},"
    opinion = None
    if answer.exercise in judge.exercises:
        try:
            opinion = judge.judge(answer.exercise, answer.code)
        except JudgeError as error:
            raise JudgeError(f"{place} cannot go on: {error}") from error
        except Exception as error:
            raise JudgeError(f"{place} raised {_described(error)}") from error
        if opinion is not None and not isinstance(opinion, Opinion):
            raise JudgeError(f"{place} returned {opinion!r:.80}: it must return an Opinion or None.")
        if opinion and not (isinstance(opinion.accepted, bool) and isinstance(opinion.message, str)):
            raise JudgeError(f"{place} returned {opinion!r:.80}: `accepted` is a bool and `message` a text.")
    return Judged(answer, judge.name, opinion, time.perf_counter() - started)


def load_judge(place: str) -> Judge:
    """Make the judge that ``FILE.py:CLASS`` names; raise JudgeError if there is none, or it is no judge."""
    file, _, name = place.partition(":")
    if not Path(file).is_file():
        raise JudgeError(f"There is no judge in {file}: name a Python file and a class, FILE.py:CLASS.")
    try:
        judge: Judge = runpy.run_path(file)[name]()
    except Exception as error:
        raise JudgeError(f"The judge {place} cannot be made: {_described(error)}") from error
    if not isinstance(getattr(judge, "name", None), str) or not judge.name:
        raise JudgeError(f"{place} has no name: set `name` to the text of its row in the table.")
    if not isinstance(getattr(judge, "exercises", None), (set, frozenset)):
        raise JudgeError(f"{place} has no exercises: set `exercises` to a set of their names.")
    if not callable(getattr(judge, "judge", None)):
        raise JudgeError(f"{place} has no method `judge(exercise, code)`: define it.")
    return judge


def _described(error: Exception) -> str:
    """The error and the line that raised it, in one sentence."""
    if isinstance(error, ChildError):
        return f"an error in the child ({error.place}): {error}"
    return f"{type(error).__name__} ({line_of(error)}): {error}"
