"""How much memory and how many multiplications a function takes: counted by torch, not timed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from itertools import accumulate
from typing import Any, cast

import torch
from torch._C._profiler import RecordScope
from torch.autograd.profiler import profile

os.environ["KINETO_LOG_LEVEL"] = "99"  # or the profiler says on stderr that it begins and ends


def peak_bytes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """The most bytes that torch holds at once while `function(*args, **kwargs)` runs.

    What was there before does not count; results do, and what operators need within themselves. Gradients
    are as the caller has them: with them, whatever the backward pass will need is held to the end.
    """
    gc.collect()  # what is freed meanwhile would be missed, with a warning
    allocations, autograd = profile(use_cpu=True, profile_memory=True), cast(Any, torch.autograd)
    settings = allocations.config(), allocations.kineto_activities
    autograd._prepare_profiler(*settings)
    # As `with allocations:`, which records each operator as well and takes three times as long.
    autograd._enable_profiler(*settings, {RecordScope.USER_SCOPE})
    try:
        function(*args, **kwargs)
    finally:
        recorded = autograd._disable_profiler()
    # Negative where memory is freed; some ten thousand, of which a longer loop takes longer than the call.
    sizes = (event.nbytes() for event in recorded.events() if event.name() == "[memory]")
    return max(0, max(accumulate(sizes), default=0))


def multiplications(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """How many numbers are multiplied by the matrix products of `function(*args, **kwargs)`.

    Products of single numbers, as in `a * b`, do not count.
    """
    with profile(use_cpu=True, with_flops=True) as watched:
        function(*args, **kwargs)
    assert watched.kineto_results is not None
    # mm, bmm, addmm, baddbmm; each multiplication has an addition.
    products = (event for event in watched.kineto_results.events() if event.name().endswith("mm"))
    return sum(event.flops() for event in products) // 2
