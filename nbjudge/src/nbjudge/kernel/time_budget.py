"""How long one notebook may still run: less, each time that its code exceeds a limit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from nbjudge.kernel.replies import Reply

LOSSES_OF_AN_EXERCISE = 2  # at most so many are counted
MOST_HALVINGS = 3


class TimeBudget:
    """The time until which one notebook may run.

    A loss is a cell that timed out or ended its kernel, or a request to an exercise that did. At the second
    loss the time that is left is cut to half of the full time, at the fourth to a quarter, at the sixth to
    an eighth. A notebook with one slow cell keeps its full time.

    Parameters
    ----------
    seconds
        The time for the whole notebook.
    clock
        The current time in seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.ends = float("inf")  # until `start`
        self._clock = clock
        self._cells = 0
        self._by_exercise = Counter[str]()
        self._stopped_call: dict[str, Any] | None = None

    @property
    def is_used_up(self) -> bool:
        """Whether no further cell or request may be started."""
        return self._clock() >= self.ends

    @property
    def losses(self) -> int:
        """How many cells and requests exceeded a limit."""
        counted = (min(count, LOSSES_OF_AN_EXERCISE) for count in self._by_exercise.values())
        return self._cells + sum(counted)

    def start(self) -> None:
        """Let the time run; a second call changes nothing."""
        if self.ends == float("inf"):
            self.ends = self._clock() + self.seconds

    def count_cell(self) -> None:
        """Count a cell that timed out or ended its kernel."""
        self._cells += 1
        self._shorten()

    def count_reply(self, name: str, calls: Sequence[dict[str, Any]], reply: Reply) -> None:
        """Count a reply of the exercise `name`, if the reply was lost or one of its calls did not end.

        A request is stopped as well when its calls take too long together: a call that is stopped counts
        only if it was the first, or was stopped before.
        """
        stopped = next(
            (
                call
                for call, answer in zip(calls, reply.answers, strict=True)
                if answer.status in ("late", "died")
            ),
            None,
        )
        earlier, self._stopped_call = self._stopped_call, stopped
        hangs = stopped is not None and (stopped is calls[0] or stopped is earlier)
        if reply.lost or hangs:
            self._by_exercise[name] += 1
            self._shorten()

    def _shorten(self) -> None:
        halvings = min(self.losses // 2, MOST_HALVINGS)
        if halvings:
            self.ends = min(self.ends, self._clock() + self.seconds / 2**halvings)
