"""The check events of a class: one line of a file per check, kept for as long as the course sets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from nbjudge.atomic_files import write_atomically
from nbjudge.errors import CourseError

DAY = 86_400.0  # seconds


@dataclass(frozen=True)
class CheckEvent:
    """One check of one learner's answer.

    `code` is a digest of the answer: a new one is another try. It is empty where there was no result.
    """

    time: float
    learner: str
    assignment: str
    exercise: str
    code: str
    right: bool
    mistake: str = ""  # the first that was named
    told: str = ""  # what was measured, with the learner's own numbers


class CheckEvents:
    """All check events, in memory and in a file; none older than `keep_days`, and no file if that is 0."""

    def __init__(self, file: Path | None, keep_days: int, clock: Callable[[], float] = time.time) -> None:
        self._file, self._seconds, self._clock = (file if keep_days else None), keep_days * DAY, clock
        self.all: list[CheckEvent] = []
        self._alone = threading.Lock()  # the judge adds, and the board forgets
        if self._file is not None:
            self.all = [event for event in _read(self._file) if clock() - event.time < self._seconds]
            self._write_all()
        elif file is not None:
            with suppress(OSError):  # of a time when something was kept
                file.unlink()

    def add(self, event: CheckEvent) -> None:
        """Add an event, and write it to the file if there is one."""
        line = _line(event)
        with self._alone:
            self.all.append(event)
            if self._file is None:
                return
            try:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(line)
            except OSError:  # the tutor goes on without its file when the disk is full
                self._file = None

    def forget_old(self) -> None:
        """Delete events that are older than the course keeps them."""
        with self._alone:
            oldest = self._clock() - (self._seconds or DAY)
            recent = [event for event in self.all if event.time > oldest]
            if len(recent) != len(self.all):
                self.all = recent
                self._write_all()

    def _write_all(self) -> None:
        """Whole or not at all. Raises CourseError where it cannot be written."""
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, "".join(map(_line, self.all)).encode(), mode=0o600)
        except OSError as error:
            raise CourseError(
                f"{self._file}, where the board keeps what it shows, cannot be written ({error.strerror}): "
                "free some disk space, or set Classroom.keep_days = 0."
            ) from error


def _line(event: CheckEvent) -> str:
    """In ASCII: half a character, which no encoding has, is an escape there."""
    return json.dumps(asdict(event)) + "\n"


def _read(file: Path) -> list[CheckEvent]:
    """Return the events in a file, without lines that are none, such as one that was cut off."""
    events = []
    with suppress(OSError):
        for line in file.read_text("utf-8", errors="replace").split("\n"):
            with suppress(ValueError):
                events.append(msgspec.convert(json.loads(line), CheckEvent))
    return events
