"""The memory of large messages, kept for the next ones."""

from __future__ import annotations

import ctypes

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
