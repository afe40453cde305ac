"""The board: how many learners are working, stuck or done with each exercise, and their current mistakes.

It is made of check events, one line of a file per check, kept for as long as the course sets.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from nbjudge.atomic_files import write_atomically
from nbjudge.errors import CourseError
from nbjudge.settings import ClassroomSettings

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


def board(
    check_events: Iterable[CheckEvent],
    order: Sequence[tuple[str, str]],
    sentence_of: Callable[[str, str, str], str],
    settings: ClassroomSettings,
    now: float,
) -> list[dict[str, Any]]:
    """Return the exercises that a learner has begun, ready for JSON.

    Parameters
    ----------
    check_events
        The checks of all learners, in their order.
    order
        Assignment and exercise, as the course has them.
    sentence_of
        Gives the sentence of a mistake, by assignment, exercise and name.
    settings
        When a learner counts as stuck, and whether the board shows names.
    now
        The time that "stuck" refers to.

    Returns
    -------
    list of dict
        Of each exercise how many have begun it, and how many of these are working, stuck or done, with their
        names under "who" if the board shows them; and the mistakes in their last checks, the most frequent
        first, each with its sentence and one learner's measurements as an example.
    """
    by_exercise: dict[tuple[str, str], dict[str, list[CheckEvent]]] = defaultdict(lambda: defaultdict(list))
    for event in check_events:
        by_exercise[event.assignment, event.exercise][event.learner].append(event)
    return [
        _exercise(key, by_exercise[key], partial(sentence_of, *key), settings, now)
        for key in order
        if key in by_exercise
    ]


def tries(check_events: Sequence[CheckEvent]) -> int:
    """Count the tries of one learner: the first result, and each one after a change of the answer."""
    codes = [event.code for event in check_events if event.code]
    return sum(before != after for before, after in pairwise(codes)) + bool(codes)


def _exercise(
    key: tuple[str, str],
    learners: Mapping[str, Sequence[CheckEvent]],
    sentence_of: Callable[[str], str],
    settings: ClassroomSettings,
    now: float,
) -> dict[str, Any]:
    by_progress: dict[str, list[str]] = {"working": [], "stuck": [], "done": []}
    by_mistake: dict[str, list[CheckEvent]] = defaultdict(list)
    for learner, check_events in learners.items():
        by_progress[_progress(check_events, settings, now)].append(learner)
        last = check_events[-1]
        if last.mistake and not last.right:
            by_mistake[last.mistake].append(last)
    mistakes = [
        {
            "name": name,
            "learners": len(events),
            "sentence": sentence_of(name),
            "example": events[-1].told,
            "who": sorted(event.learner for event in events) if settings.names else [],
        }
        for name, events in sorted(by_mistake.items(), key=lambda named: -len(named[1]))
    ]
    return {
        "assignment": key[0],
        "exercise": key[1],
        "begun": len(learners),
        **{progress: len(names) for progress, names in by_progress.items()},
        "mistakes": mistakes,
        "who": {name: sorted(names) if settings.names else [] for name, names in by_progress.items()},
    }


def _progress(check_events: Sequence[CheckEvent], settings: ClassroomSettings, now: float) -> str:
    if check_events[-1].right:
        return "done"
    minutes = (now - check_events[0].time) / 60
    stuck = tries(check_events) >= settings.stuck_tries or minutes >= settings.stuck_minutes
    return "stuck" if stuck else "working"
