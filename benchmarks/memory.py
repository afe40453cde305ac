"""The memory of the processes that run notebooks."""

from __future__ import annotations

import contextlib
import threading

import psutil

BETWEEN_LOOKS = 0.1  # seconds
NICENESS_OF_A_KERNEL = 5  # in the sandbox, where only kernels are nice


class KernelWatch(threading.Thread):
    """The most memory that one descendant of the process `ancestor` held, in bytes.

    It looks from outside: a process that forks must have no other thread.

    `proportional` is the proportional set size: memory that several processes share is divided
    among them. `own` is what the process shares with no one: what it takes beyond its fork's share.
    """

    def __init__(self, ancestor: int, only_nice: bool) -> None:
        super().__init__(daemon=True)
        self._ancestor, self._only_nice = psutil.Process(ancestor), only_nice
        self._ended = threading.Event()
        self.own = self.proportional = 0

    def run(self) -> None:
        while not self._ended.wait(BETWEEN_LOOKS):
            for process in self._ancestor.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if not self._only_nice or process.nice() == NICENESS_OF_A_KERNEL:
                        used = process.memory_full_info()
                        self.own = max(self.own, used.uss)
                        self.proportional = max(self.proportional, used.pss)

    def end(self) -> None:
        self._ended.set()
        self.join()
