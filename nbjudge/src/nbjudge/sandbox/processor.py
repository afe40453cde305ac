"""One processor for each grading process: all that its kernels start runs there and slows no other kernel."""

from __future__ import annotations

import os
import random
import socket
import sys
from functools import cache

ANY = "any"


def claimed_processor() -> str:
    """Return the number of the processor that this process claims for its kernels; `ANY` if none is free.

    A claim is the name of a socket, which the system frees when the process ends.
    """
    return _claim(os.getpid())


@cache
def _claim(process: int) -> str:
    """Claim a processor once per process, also in a fork of one that has a claim."""
    if sys.platform != "linux":
        return ANY
    processors = list(os.sched_getaffinity(0))
    random.shuffle(processors)  # graders in other containers do not see these claims
    for processor in processors:
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0nbjudge-processor-{os.getuid()}-{processor}")
        except OSError:  # claimed by another process
            claim.close()
        else:
            claim.detach()  # it stays open as long as this process lives
            return str(processor)
    return ANY
