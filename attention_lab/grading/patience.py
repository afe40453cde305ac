"""How long a kernel is waited for: by its own work, not by the clock of a busy machine."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

SLEEP = 3  # times as many seconds by the clock


class Patience:
    """Seconds of processor time of a kernel and of what it has waited for.

    A process that sleeps does no work: `SLEEP` times as many seconds by the clock end it too, and
    so does the moment `ends`.
    """

    def __init__(self, pid: int | None, seconds: float, ends: float = float("inf")) -> None:
        self._process = None
        if pid is not None:
            with suppress(psutil.Error):  # it is gone; whether it is alive is asked elsewhere
                self._process = psutil.Process(pid)
        self._work_ends = self._work() + seconds
        self._clock_ends = min(time.monotonic() + SLEEP * seconds, ends)

    @property
    def seconds_left(self) -> float:
        return min(self._work_ends - self._work(), self._clock_ends - time.monotonic())

    def _work(self) -> float:
        """User and system time, of its ended children too."""
        try:
            return sum(self._process.cpu_times()[:4]) if self._process is not None else 0.0
        except psutil.Error:
            return 0.0
