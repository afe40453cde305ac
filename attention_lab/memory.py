"""How much memory and how many multiplications a function takes: counted by torch, not timed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import torch
from torch.autograd.profiler import profile

os.environ["KINETO_LOG_LEVEL"] = "99"  # or the profiler says on stderr that it begins and ends


def peak_bytes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """The most bytes that torch holds at once while `function(*args, **kwargs)` runs.

    What was there before does not count; results do, and what operators need within themselves. Gradients
    are as the caller has them: with them, whatever the backward pass will need is held to the end.
    """
    gc.collect()  # what is freed meanwhile would count
    autograd: Any = torch._C._autograd
    profiler: Any = torch._C._profiler
    options = (False, True, False, False, False, profiler._ExperimentalConfig())  # only True: memory
    # As `with profile(profile_memory=True):`, which records each operator as well and is far slower.
    autograd._enable_profiler_legacy(profiler.ProfilerConfig(profiler.ProfilerState.CPU, *options))
    autograd._enable_record_function(False)
    try:
        function(*args, **kwargs)
    finally:
        autograd._enable_record_function(True)
        recorded = autograd._disable_profiler_legacy()
    events = (event for thread in recorded for event in thread if event.kind() == "memory_alloc")
    sizes = (event.cpu_memory_usage() for event in events)  # less than 0 where memory is freed
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
