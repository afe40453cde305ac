"""Notes whether other Python threads take part in a call whose memory or products are counted.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`. The counts are those of the calling
thread and of torch's own threads, so the work of another Python thread would not be in them.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType
from typing import Any

ANOTHER_THREAD = "another thread"
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class OtherThreads:
    """The other threads of this process: those that compute, and those that start, until its context ends.

    Threads of libraries do not count: one sends what is printed, another moves a progress bar. Those of
    thread pools, in the standard library, run a student's functions.
    """

    took_part = False

    def __enter__(self) -> OtherThreads:
        self._profile = threading.getprofile()
        threading.setprofile(self._begins)
        self._computed = _computed_by_others()
        return self

    def __exit__(self, *details: Any) -> None:
        threading.setprofile(self._profile)
        self.took_part = self.took_part or _computed_by_others() != self._computed

    def _begins(self, frame: FrameType, event: str, argument: Any) -> None:
        """Python's report of each call in a new thread, until the first that is not in `threading`."""
        runs_built_in = event == "c_call" and frame.f_code is threading.Thread.run.__code__
        if runs_built_in or (event == "call" and frame.f_code.co_filename != threading.__file__):
            sys.setprofile(None)
            self.took_part = self.took_part or runs_built_in or not _is_of_a_library(frame)


def _computed_by_others() -> dict[int, int]:
    """For each other thread of no library, the nanoseconds that it has computed."""
    return {
        thread: _nanoseconds(thread)
        for thread, frame in sys._current_frames().items()
        if thread != threading.get_ident() and not _is_of_a_library(frame)
    }


def _is_of_a_library(frame: FrameType | None) -> bool:
    """Whether the function that a thread was started with, which `threading` calls, is of a library."""
    file = ""
    while frame is not None:
        if frame.f_code.co_filename != threading.__file__:
            file = frame.f_code.co_filename
        frame = frame.f_back
    return any(packages in file for packages in _PACKAGES)


def _nanoseconds(thread: int) -> int:
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(thread))
    except (AttributeError, OSError):  # macOS and Windows have no such clock; a thread that has ended, none
        return 0
