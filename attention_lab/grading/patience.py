"""How long a kernel is waited for: by its own work, not by the clock of a busy machine."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil


class Patience:
    """Seconds of a process's own work, so that a busy machine costs nobody a point.

    A process that sleeps does no work: three times as many seconds by the clock end it too.
    """

    def __init__(self, pid: int | None, seconds: float) -> None:
        self._process = None
        if pid is not None:
            with suppress(psutil.Error):  # it is gone; whether it is alive is asked elsewhere
                self._process = psutil.Process(pid)
        self._work_ends = self._work() + seconds
        self._clock_ends = time.monotonic() + 3 * seconds

    @property
    def seconds_left(self) -> float:
        return min(self._work_ends - self._work(), self._clock_ends - time.monotonic())

    def _work(self) -> float:
        try:
            return sum(self._process.cpu_times()[:2]) if self._process is not None else 0.0
        except psutil.Error:
            return 0.0
