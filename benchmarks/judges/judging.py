"""What a judge is: `judge(exercise, code)` returns whether it accepts the answer, and what it says."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from answers import Answer


@dataclass(frozen=True)
class Opinion:
    """What a judge thinks of one answer: whether it is accepted, and the text that its student reads."""

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
        """Whether a right answer was accepted or a wrong one refused."""
        return self.opinion is not None and self.opinion.accepted == self.answer.is_right


def put_to(judge: Judge, answer: Answer) -> Judged:
    """Put one answer to a judge."""
    started = time.perf_counter()
    opinion = judge.judge(answer.exercise, answer.code) if answer.exercise in judge.exercises else None
    return Judged(answer, judge.name, opinion, time.perf_counter() - started)


def load_judge(place: str) -> Judge:
    """Make the judge that ``FILE.py:CLASS`` names.

    Raises ValueError if there is no such class.
    """
    file, _, name = place.partition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None or not Path(file).exists():
        raise ValueError(f"There is no judge in {file}: name a Python file and a class, FILE.py:CLASS.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise ValueError(f"{file} has no class {name!r}: name it after the colon, FILE.py:CLASS.")
    return getattr(module, name)()
