"""One processor for each grading process: what its kernels start shares that one, and slows no other."""

from __future__ import annotations

import os
import random
import socket
import sys
from functools import cache

ANY = "any"


def claimed_processor() -> str:
    """The number of the processor that this process claims for its kernels; `ANY` where none is free.

    A claim is a socket's name, which the system sets free when the process ends.
    """
    return _claim(os.getpid())


@cache
def _claim(process: int) -> str:
    """Once in a process, and again in each of its forks."""
    if sys.platform != "linux":
        return ANY
    processors = list(os.sched_getaffinity(0))
    random.shuffle(processors)  # graders in other containers, which see no claims of ours, do the same
    for processor in processors:
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0nbjudge-processor-{os.getuid()}-{processor}")
        except OSError:  # somebody else's
            claim.close()
        else:
            claim.detach()  # it stays open as long as this process lives
            return str(processor)
    return ANY
