"""The memory of the class's tutor: freed memory is kept for the next message, and there is a limit."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

# The numbers of mallopt(3), and what they are set to.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
KEPT = 2**30  # bytes, free at the end of the heap
LARGEST_ON_THE_HEAP = 2**25  # bytes; no more is allowed


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
    for parameter, value in (
        (TRIM_THRESHOLD, KEPT),
        (MMAP_THRESHOLD, LARGEST_ON_THE_HEAP),
        (ARENA_MAX, 1),
    ):
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
