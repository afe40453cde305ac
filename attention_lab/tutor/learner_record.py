"""What is remembered of each exercise in the learner's folder: tries, help, mistakes met, and success."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FILE = Path(".attention-lab") / "exercises.json"
LAST_WORDS = "ended-the-kernel.txt"  # beside it: the exercise that was being asked when a kernel ended
FIRST_LESSON = "00_start_here"  # is beside the lessons of a learner


@dataclass(frozen=True)
class Remembered:
    """One exercise. `code` is the digest of the answer that was looked at last."""

    lesson: str = ""
    tries: int = 0
    helps: int = 0
    code: str = ""
    points: float = 0.0
    max_points: float = 0.0
    right_at: str = ""
    right_code: str = ""
    mistakes: Mapping[str, str] = field(default_factory=dict)  # the sentence of each that was met, by name

    @property
    def is_right(self) -> bool:
        return bool(self.right_at)


class Memory:
    """The file in a work folder; `None` remembers for as long as the kernel lives."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / FILE if folder is not None else None
        self._known = dict[str, Remembered]()

    @classmethod
    def around(cls, lesson: Path) -> Memory:
        """The history beside a lesson's folder, if a learner works there."""
        return cls(lesson.parent) if (lesson.parent / FIRST_LESSON).is_dir() else _in_this_kernel

    @property
    def last_words(self) -> Path | None:
        """Where a tutor leaves the name of the exercise that ended its kernel."""
        return None if self._file is None else self._file.with_name(LAST_WORDS)

    def ended_the_kernel(self) -> str:
        """The exercise whose last check ended the kernel, said once; empty where none did."""
        file = self.last_words
        with suppress(OSError):
            if file is not None and file.exists():
                name = file.read_text("utf-8").strip()
                file.unlink()
                return name
        return ""

    def all(self) -> dict[str, Remembered]:
        """Every exercise that was looked at."""
        if self._file is not None:
            self._known = _read(self._file)
        return self._known

    def of(self, exercise: str) -> Remembered:
        return self.all().get(exercise, Remembered())

    def examined(self, exercise: str, lesson: str, code: str, points: float, max_points: float) -> Remembered:
        """Remember a look at an answer. It is another try where its code is another than the last time's."""
        before = self.of(exercise)
        right = points == max_points
        now = replace(
            before,
            lesson=lesson,
            tries=before.tries + (code != before.code),
            code=code,
            points=points,
            max_points=max_points,
            right_at=(before.right_at or datetime.now(UTC).isoformat(timespec="seconds")) if right else "",
            right_code=code if right else before.right_code,
        )
        self._keep(exercise, now)
        return now

    def helped(self, exercise: str) -> None:
        before = self.of(exercise)
        self._keep(exercise, replace(before, helps=before.helps + 1))

    def met(self, exercise: str, mistakes: Mapping[str, str]) -> None:
        """Remember mistakes that were named."""
        before = self.of(exercise)
        self._keep(exercise, replace(before, mistakes={**before.mistakes, **mistakes}))

    def reset(self, exercise: str = "") -> None:
        """Forget one exercise, or all of them."""
        known = {name: remembered for name, remembered in self.all().items() if exercise and name != exercise}
        self._write(known)

    def _keep(self, exercise: str, now: Remembered) -> None:
        self._write({**self.all(), exercise: now})

    def _write(self, known: dict[str, Remembered]) -> None:
        """Whole or not at all. Where nothing can be written, it lasts as long as the kernel does."""
        self._known = known
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(exist_ok=True)
            new = self._file.with_suffix(f".{os.getpid()}.new")
            new.write_text(
                json.dumps({name: asdict(remembered) for name, remembered in known.items()}, indent=1),
                "utf-8",
            )
            os.replace(new, self._file)
        except OSError:
            self._file = None


_in_this_kernel = Memory(None)


def _read(file: Path) -> dict[str, Remembered]:
    """What was written; nothing if it is missing or cannot be read."""
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        content: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
        return {exercise: _remembered(entry) for exercise, entry in content.items()}
    return {}


def _remembered(entry: dict[str, Any]) -> Remembered:
    """One exercise of the file. Raises ValueError where an entry has another type than it is written with."""
    empty = Remembered()
    known = {each.name: entry[each.name] for each in fields(Remembered) if each.name in entry}
    for name, value in known.items():
        expected = getattr(empty, name)
        if not isinstance(value, (int, float) if isinstance(expected, float) else type(expected)):
            raise ValueError(f"{name} is {type(value).__name__}")
    return Remembered(**known)
