"""What one learner may ask for, so that no learner slows another: a rate, and one thing at a time."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable

TOO_OFTEN = (
    "The tutor was asked {limit} times in the last minute by you alone. Run this cell again in {seconds} s; "
    "meanwhile, the examples above test your answer."
)
ONE_AT_A_TIME = "The tutor is still busy with your last question: run this cell again when that is answered."
TOO_LARGE = (
    "Your answer is larger than the {limit} MB that the tutor reads: does it return too much, or too often?"
)
NO_MEMORY = (
    "The class's tutor has not enough memory to examine this answer: return less, or run this cell again in "
    "a minute."
)
MINUTE = 60.0  # seconds
REQUESTS_PER_CHECK = 40  # on average: a check has a handful of questions, a search for a small case many


class Refused(Exception):
    """The message says why, and `seconds` when to ask again."""

    def __init__(self, message: str, seconds: int = 1) -> None:
        super().__init__(message)
        self.seconds = seconds


class Limits:
    """Counts what each learner asks."""

    def __init__(self, checks_a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = checks_a_minute, clock
        self._checks: dict[str, deque[float]] = defaultdict(deque)
        self._requests: dict[str, deque[float]] = defaultdict(deque)
        self._busy = set[str]()

    def begin(self, learner: str, action: str) -> None:
        """A request begins, and is the learner's only one until `end`. Raises Refused where it may not."""
        self._count(self._requests[learner], self._most * REQUESTS_PER_CHECK)
        if learner in self._busy:
            raise Refused(ONE_AT_A_TIME)
        if action == "check":
            self.count_check(learner)
        self._busy.add(learner)

    def end(self, learner: str) -> None:
        """The request is answered, or its connection is closed."""
        self._busy.discard(learner)

    def count_check(self, learner: str) -> None:
        """Another check, or a request that cannot be read. Raises Refused where that is too often."""
        self._count(self._checks[learner], self._most)

    def _count(self, times: deque[float], limit: int) -> None:
        now = self._clock()
        while times and now - times[0] >= MINUTE:
            times.popleft()
        if len(times) >= limit:
            seconds = max(1, round(MINUTE - (now - times[0]))) if times else round(MINUTE)
            raise Refused(TOO_OFTEN.format(limit=limit, seconds=seconds), seconds)
        times.append(now)
