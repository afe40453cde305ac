"""The record of a learner's checks: tries, help, named mistakes and success, in a file or in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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

    @property
    def is_right(self) -> bool:
        """Return whether the last check found nothing wrong."""
        return bool(self.right_at)


class LearnerRecord:
    """The record in a file. Without one, it is lost when the kernel ends."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
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

    def exercises(self) -> dict[str, ExerciseHistory]:
        """Return the records of all exercises that were checked."""
        if self._file is not None:
            self._exercises = _read(self._file)
        return self._exercises

    def exercise(self, name: str) -> ExerciseHistory:
        """Return the record of one exercise."""
        return self.exercises().get(name, ExerciseHistory())

    def add_check(self, name: str, folder: str, code: str, points: float, max_points: float) -> None:
        """Record a check of an answer. It is another try if the code differs from the last check's."""
        before = self.exercise(name)
        is_right = points == max_points
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
        self._change(name, helps=self.exercise(name).helps + 1)

    def add_mistakes(self, name: str, mistakes: Mapping[str, str]) -> None:
        """Record mistakes whose names the learner was told."""
        self._change(name, mistakes={**self.exercise(name).mistakes, **mistakes})

    def add_hunt(self, name: str, folder: str, hunt: str, state: str) -> None:
        """Record that a wrong answer was found, fixed or seen without either. One that is fixed stays so."""
        before = self.exercise(name)
        if before.hunts.get(hunt) != "fixed":
            self._change(name, lesson=before.lesson or folder, hunts={**before.hunts, hunt: state})

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
        content = {name: asdict(history) for name, history in exercises.items()}
        try:
            self._file.parent.mkdir(exist_ok=True)
            new = self._file.with_suffix(f".{os.getpid()}.new")
            new.write_text(json.dumps(content, indent=1), "utf-8")
            os.replace(new, self._file)
        except OSError:
            self._file = None


def _read(file: Path) -> dict[str, ExerciseHistory]:
    """Return the records in a file; none if it is missing or cannot be read."""
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        content: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
        records, empty = {}, ExerciseHistory()
        for name, entry in content.items():
            values = {known.name: entry[known.name] for known in fields(empty) if known.name in entry}
            for key, value in values.items():
                expected = getattr(empty, key)
                if not isinstance(value, (int, float) if isinstance(expected, float) else type(expected)):
                    return {}  # not a record of ours
            records[name] = ExerciseHistory(**values)
        return records
    return {}
