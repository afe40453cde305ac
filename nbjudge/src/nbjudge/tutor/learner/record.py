"""The record of a learner's checks: tries, help, named mistakes and success, in a file or in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

FORGOTTEN, WITH_EFFORT, REMEMBERED = 1, 2, 3  # ratings, as spaced repetition counts them
HUNTS = {"seen": FORGOTTEN, "found": WITH_EFFORT, "fixed": REMEMBERED}
LAST_WORDS = "ended-the-kernel.txt"  # beside it: the exercise that was being checked when a kernel ended


@dataclass(frozen=True)
class ExerciseHistory:
    """The checks of one exercise. `code` is the digest of the answer that was checked last."""

    lesson: str = ""  # the folder of the assignment
    tries: int = 0
    helps: int = 0
    code: str = ""
    points: float = 0.0
    max_points: float = 0.0
    right_at: str = ""
    right_code: str = ""
    mistakes: Mapping[str, str] = field(default_factory=dict)  # the sentence of each named mistake, by name
    hunts: Mapping[str, str] = field(default_factory=dict)  # found, fixed or seen, by the hunt's id
    hunted: Mapping[str, int] = field(default_factory=dict)  # the rating of each day's last hunt
    reviews: Mapping[str, int] = field(default_factory=dict)  # the rating of each day's checks

    @property
    def is_right(self) -> bool:
        """Return whether the last check found nothing wrong."""
        return bool(self.right_at)


class LearnerRecord:
    """The record in a file. Without one, it is lost when the kernel ends.

    Parameters
    ----------
    file
        The file. If it holds something else, it is renamed, and `damaged` is its new path.
    practice
        The day of a practice notebook, as 2026-01-31. Its checks are rated and change nothing else: an answer
        that is written again does not replace the one in the assignment.
    """

    def __init__(self, file: Path | None = None, practice: str = "") -> None:
        self._file, self._practice = file, practice
        self.damaged: Path | None = None
        self._exercises = dict[str, ExerciseHistory]()

    @property
    def last_words(self) -> Path | None:
        """The file in which a tutor writes the name of the exercise that ended its kernel."""
        return None if self._file is None else self._file.with_name(LAST_WORDS)

    def take_last_words(self) -> str:
        """Return the exercise whose check ended the kernel, and delete its name; empty if there is none."""
        with suppress(OSError):
            if (file := self.last_words) is not None:
                name = file.read_text("utf-8").strip()
                file.unlink()
                return name
        return ""

    @property
    def is_kept(self) -> bool:
        """Return whether it is in a file, which can be written."""
        return self._file is not None

    def exercises(self) -> dict[str, ExerciseHistory]:
        """Return the records of all exercises that were checked."""
        if self._file is not None:
            exercises = _read(self._file)
            if exercises is None:
                self.damaged = _set_aside(self._file)
            self._exercises = exercises or {}
        return self._exercises

    def exercise(self, name: str) -> ExerciseHistory:
        """Return the record of one exercise."""
        return self.exercises().get(name, ExerciseHistory())

    def add_check(self, name: str, folder: str, code: str, points: float, max_points: float) -> None:
        """Record a check of an answer. It is another try if the code differs from the last check's."""
        before = self.exercise(name)
        is_right = points == max_points
        if self._practice or code != before.code:
            self._rate(name, is_right)
        if self._practice:
            return
        self._change(
            name,
            lesson=folder,
            tries=before.tries + (code != before.code),
            code=code,
            points=points,
            max_points=max_points,
            right_at=(before.right_at or datetime.now(UTC).isoformat(timespec="seconds")) if is_right else "",
            right_code=code if is_right else before.right_code,
        )

    def add_help(self, name: str) -> None:
        """Record that the learner was given help."""
        self._rate(name, False)
        if not self._practice:
            self._change(name, helps=self.exercise(name).helps + 1)

    def add_mistakes(self, name: str, mistakes: Mapping[str, str]) -> None:
        """Record mistakes whose names the learner was told."""
        self._change(name, mistakes={**self.exercise(name).mistakes, **mistakes})

    def add_hunt(self, name: str, folder: str, hunt: str, state: str) -> None:
        """Record that a wrong answer was found, fixed or seen without either. One that is fixed stays so."""
        before = self.exercise(name)
        known = before.hunts.get(hunt)
        hunts = {**before.hunts, hunt: "fixed" if known == "fixed" else state}
        hunted = {**before.hunted, str(date.today()): HUNTS[state]}
        self._change(name, lesson=before.lesson or folder, hunts=hunts, hunted=hunted)

    def add_review(self, name: str, day: str, rating: int) -> None:
        """Record how well something was remembered on a day: from 1, forgotten, to 4, at once."""
        self._change(name, reviews={**self.exercise(name).reviews, day: rating})

    def _rate(self, name: str, is_right: bool) -> None:
        """Rate a check, or help with it. Once an answer is right, the day's rating stays."""
        reviews, day = self.exercise(name).reviews, self._practice or str(date.today())
        if reviews.get(day, FORGOTTEN) == FORGOTTEN:
            right = WITH_EFFORT if day in reviews else REMEMBERED
            self.add_review(name, day, right if is_right else FORGOTTEN)

    def reset(self) -> None:
        """Delete the record of all exercises."""
        self._write({})

    def _change(self, name: str, **changes: Any) -> None:
        self._write({**self.exercises(), name: replace(self.exercise(name), **changes)})

    def _write(self, exercises: dict[str, ExerciseHistory]) -> None:
        """Write the whole file or nothing. If it cannot be written, the record is lost with the kernel."""
        self._exercises = exercises
        if self._file is None:
            return
        empty = asdict(ExerciseHistory())
        content = {
            name: {key: value for key, value in asdict(history).items() if value != empty[key]}
            for name, history in exercises.items()
        }
        try:
            self._file.parent.mkdir(exist_ok=True)
            new = self._file.with_suffix(f".{os.getpid()}.new")
            new.write_text(json.dumps(content, indent=1), "utf-8")
            os.replace(new, self._file)
        except OSError:
            self._file = None


def _set_aside(file: Path) -> Path | None:
    """Rename a damaged file, and return its new path; None if that fails."""
    numbers = ("" if number == 1 else f" {number}" for number in count(1))
    paths = (file.with_stem(f"{file.stem} (damaged{number})") for number in numbers)
    with suppress(OSError):
        return file.rename(next(path for path in paths if not path.exists()))
    return None


def _read(file: Path) -> dict[str, ExerciseHistory] | None:
    """Return the records in a file, none if it cannot be opened; None if it holds something else."""
    try:
        content: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
        records, empty = {}, asdict(ExerciseHistory())
        for name, entry in content.items():
            values = {key: value for key, value in entry.items() if key in empty}
            for key, value in values.items():
                expected = empty[key]
                if not isinstance(value, (int, float) if isinstance(expected, float) else type(expected)):
                    return None
            records[name] = ExerciseHistory(**values)
    except OSError:
        return {}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return records
