"""What one learner may ask for, so that no learner slows another; and the memory of the whole service."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path

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


class RequestRefusedError(Exception):
    """The message says why, and `seconds` when to ask again."""

    def __init__(self, message: str, seconds: int = 1) -> None:
        super().__init__(message)
        self.seconds = seconds


class RateLimiter:
    """Counts what each learner asks."""

    def __init__(self, checks_a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._checks_a_minute, self._clock = checks_a_minute, clock
        self._checks: dict[str, deque[float]] = defaultdict(deque)
        self._requests: dict[str, deque[float]] = defaultdict(deque)
        self._busy = set[str]()

    def begin(self, learner: str, action: str) -> None:
        """Begin a request, the learner's only one until `end`. Raises RequestRefusedError if it may not."""
        self._count(self._requests[learner], self._checks_a_minute * REQUESTS_PER_CHECK)
        if learner in self._busy:
            raise RequestRefusedError(ONE_AT_A_TIME)
        if action == "check":
            self.count_check(learner)
        self._busy.add(learner)

    def end(self, learner: str) -> None:
        """The request is answered, or its connection is closed."""
        self._busy.discard(learner)

    def count_check(self, learner: str) -> None:
        """Count a check or a request that cannot be read. Raises RequestRefusedError if too often."""
        self._count(self._checks[learner], self._checks_a_minute)

    def _count(self, times: deque[float], limit: int) -> None:
        now = self._clock()
        while times and now - times[0] >= MINUTE:
            times.popleft()
        if len(times) >= limit:
            seconds = max(1, round(MINUTE - (now - times[0]))) if times else round(MINUTE)
            raise RequestRefusedError(TOO_OFTEN.format(limit=limit, seconds=seconds), seconds)
        times.append(now)


# What mallopt(3) sets, by the number of the parameter.
ALLOCATOR_SETTINGS = {
    -1: 2**30,  # M_TRIM_THRESHOLD: bytes that stay free at the end of the heap
    -3: 2**25,  # M_MMAP_THRESHOLD: bytes of the largest block on the heap; no more is allowed
    -8: 1,  # M_ARENA_MAX
}


def keep_what_is_freed() -> None:
    """Have the C library hold on to freed memory, whatever thread freed it.

    An answer of some megabytes is received, read and forgotten. Memory that goes back to the system each time
    comes again page by page, which takes longer than all that is done with it. C libraries other than glibc
    are left alone.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in ALLOCATOR_SETTINGS.items():
        mallopt(parameter, value)


def limit_address_space(mebibytes: int) -> None:
    """Limit the address space of this process, so that one request cannot take a machine's whole memory.

    Where it is exceeded, Python and torch raise an error in the request (see `is_out_of_memory`), and the
    service goes on. Only Linux enforces such a limit; elsewhere nothing is set.

    Parameters
    ----------
    mebibytes
        What the process may add to what it has now; 0 sets no limit.
    """
    if not mebibytes or sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + mebibytes * 2**20
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    if hard_limit != resource.RLIM_INFINITY:
        limit = min(limit, hard_limit)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory: Python's own, torch's, or that of a new thread."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        sign in str(error) for sign in ("can't allocate memory", "can't start new thread")
    )
