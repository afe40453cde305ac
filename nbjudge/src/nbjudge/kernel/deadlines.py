"""How long a kernel is waited for: by its own time, not by what a busy machine takes from it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import psutil

LONGEST_BY_THE_CLOCK = 3  # times as many seconds
AT_WORK = frozenset("RD")  # running or ready to, or waiting for a disk: see proc_pid_stat(5)


class CpuTimeDeadline:
    """Seconds of a kernel's own time: while it sleeps the clock's, else the processor's.

    A kernel that is ready to run but waits for a processor is not charged for the wait. It is
    looked at whenever `seconds_left` is asked for, so ask often. `LONGEST_BY_THE_CLOCK` times as
    many seconds by the clock end it in any case, and so does the moment `ends`.
    """

    def __init__(self, pid: int | None, seconds: float, ends: float = float("inf")) -> None:
        self._process = None
        if pid is not None:
            with suppress(psutil.Error):  # it is gone; whether it is alive is asked elsewhere
                self._process = psutil.Process(pid)
        self._left = seconds
        self._looked = time.monotonic()
        self._worked = self._work()
        self._clock_ends = min(self._looked + LONGEST_BY_THE_CLOCK * seconds, ends)

    @property
    def seconds_left(self) -> float:
        now, worked = time.monotonic(), self._work()
        spent = worked - self._worked
        self._left -= spent if self._is_at_work() else max(spent, now - self._looked)
        self._looked, self._worked = now, worked
        return min(self._left, self._clock_ends - now)

    def _work(self) -> float:
        """User and system time, of its ended children too."""
        try:
            return sum(self._process.cpu_times()[:4]) if self._process is not None else 0.0
        except psutil.Error:
            return 0.0

    def _is_at_work(self) -> bool:
        """Whether one of its threads runs or would run if it were let."""
        if self._process is None:
            return False
        try:
            return any(_state(task) in AT_WORK for task in Path(f"/proc/{self._process.pid}/task").iterdir())
        except OSError:
            return False


def _state(task: Path) -> str:
    """The letter behind the name, which may hold spaces and brackets of its own."""
    try:
        return (task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # a thread that has just ended
        return ""
