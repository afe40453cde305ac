"""What an answer takes while it is asked: bytes held in memory, and multiplications. Counted, not timed.

Both run in the student's kernel, between a case and the answer (see `nbjudge.authoring.ask`), and call it
without gradients. What they report is compared in the `verify` of a case group, with ``needs_values`` and
``said_last``: wrong answers can be small.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.profiler import profile
from torch.utils.flop_counter import FlopCounterMode

BLOCK = 2**16  # bytes; the same answer holds some hundred more or less each time


def memory_of(answer: Callable[..., Any]) -> Callable[..., dict[str, int]]:
    """The bytes that an answer holds: ``ask(..., through=memory_of)``.

    Reported are "largest", the bytes of the largest tensor that was made; "most", those of all that were held
    at once, its results and what operators need within themselves among them; and "elsewhere", bytes held
    beside torch at most (NumPy's arrays, lists), in whole blocks of 64 KiB. What it was handed counts for
    nothing.
    """

    def measured(*args: Any, **kwargs: Any) -> dict[str, int]:
        os.environ["KINETO_LOG_LEVEL"] = "99"  # or the profiler says on stderr that it begins and ends
        with torch.no_grad():
            # Another thread's objects count, too: what is much is counted once more.
            elsewhere = _beside_torch(answer, args, kwargs)
            if elsewhere > BLOCK:
                elsewhere = min(elsewhere, _beside_torch(answer, args, kwargs))
            with profile(use_cpu=True, profile_memory=True) as watched:
                answer(*args, **kwargs)
        assert watched.kineto_results is not None
        held = most = largest = 0
        for event in watched.kineto_results.events():
            if event.name() == "[memory]":
                held += event.nbytes()  # what is freed is negative
                most, largest = max(most, held), max(largest, event.nbytes())
        return {"largest": largest, "most": most, "elsewhere": elsewhere}

    return measured


def _beside_torch(answer: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    tracemalloc.start()
    try:
        answer(*args, **kwargs)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return -(-most // BLOCK) * BLOCK


def multiplications_of(answer: Callable[..., Any]) -> Callable[..., int]:
    """How many numbers an answer multiplies: ``ask(..., through=multiplications_of)``.

    Those of all products of matrices, and of convolutions; other operators count for nothing.
    """

    def measured(*args: Any, **kwargs: Any) -> int:
        with torch.no_grad(), FlopCounterMode(display=False) as products:
            answer(*args, **kwargs)
        return products.get_total_flops() // 2

    return measured
