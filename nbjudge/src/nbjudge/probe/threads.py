"""Whether other Python threads take part in a call whose memory or products are counted.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`. The counts are those of the calling
thread and of torch's own threads, so the work of another Python thread would not be in them.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from types import FrameType

from nbjudge.probe.compiled import is_installed

ANOTHER_THREAD = "another thread"


class OtherThreads:
    """The other threads of this process, and what each has computed before a call.

    Threads of libraries do not count: one sends what is printed, another moves a progress bar. Those of
    thread pools, in the standard library, run a student's functions.
    """

    def __init__(self) -> None:
        self._computed, self._of_libraries = _other_threads()
        self._started = _threads_started()

    def took_part(self) -> bool:
        """Whether one has run, or was started, since this was made."""
        started = _threads_started() - self._started - 1  # this was one, too
        computed, of_libraries = _other_threads()
        return computed != self._computed or started > len(of_libraries - self._of_libraries)


def _other_threads() -> tuple[dict[int, int], set[int]]:
    """For each thread of no library the nanoseconds that it has computed; and the threads of libraries."""
    of_libraries: set[int] = set()
    computed: dict[int, int] = {}
    for thread, frame in sys._current_frames().items():
        if _is_of_a_library(frame):
            of_libraries.add(thread)
        elif thread != threading.get_ident():
            computed[thread] = _nanoseconds(thread)
    return computed, of_libraries


def _is_of_a_library(frame: FrameType | None) -> bool:
    """Whether the function that a thread was started with, which `threading` calls, is of a library."""
    file = ""
    while frame is not None:
        if frame.f_code.co_filename != threading.__file__:
            file = frame.f_code.co_filename
        frame = frame.f_back
    return is_installed(file)


def _nanoseconds(thread: int) -> int:
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(thread))
    except (AttributeError, OSError):  # macOS and Windows have no such clock; a thread that has ended, none
        return 0


def _threads_started() -> int:
    """How many threads have run Python in this process, this one more: Python numbers their states."""
    new, number, clear, delete, interpreter = (
        ctypes.pythonapi[f"Py{name}"]  # functions of its own, whose types no other code shares
        for name in (
            "ThreadState_New",
            "ThreadState_GetID",
            "ThreadState_Clear",
            "ThreadState_Delete",
            "InterpreterState_Get",
        )
    )
    new.restype = interpreter.restype = ctypes.c_void_p
    number.restype = ctypes.c_uint64
    state = ctypes.c_void_p(new(ctypes.c_void_p(interpreter())))
    try:
        return int(number(state))
    finally:
        clear(state)
        delete(state)
