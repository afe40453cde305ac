"""What one learner may ask for, so that nobody slows another: a rate, and one thing at a time."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TOO_OFTEN = (
    "The tutor was asked {most} times in the last minute by you alone. Run this cell again in {seconds} s; "
    "meanwhile, the examples above test your answer."
)
ONE_AT_A_TIME = "The tutor is still busy with your last question: run this cell again when that is answered."
TOO_LARGE = (
    "Your answer is larger than the {most} MB that the tutor reads: does it return too much, or too often?"
)
MINUTE = 60.0  # seconds


class Refused(Exception):
    """The message says why, and when to ask again."""


class Limits:
    """Counts what each learner asks."""

    def __init__(self, checks_a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = checks_a_minute, clock
        self._asked: dict[str, deque[float]] = defaultdict(deque)
        self._busy = set[str]()

    def count(self, learner: str) -> None:
        """Somebody asks once more. Raises Refused where that is too often."""
        times, now = self._asked[learner], self._clock()
        while times and now - times[0] >= MINUTE:
            times.popleft()
        if len(times) >= self._most:
            seconds = max(1, round(MINUTE - (now - times[0])))
            raise Refused(TOO_OFTEN.format(most=self._most, seconds=seconds))
        times.append(now)

    @contextmanager
    def one_at_a_time(self, learner: str) -> Iterator[None]:
        """While the judge works for somebody. Raises Refused where it does already."""
        if learner in self._busy:
            raise Refused(ONE_AT_A_TIME)
        self._busy.add(learner)
        try:
            yield
        finally:
            self._busy.discard(learner)
