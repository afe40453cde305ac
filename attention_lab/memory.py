"""How much memory a function takes: counted by torch, not timed."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from torch.autograd.profiler import profile


def peak_bytes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """The most bytes that torch holds at once while `function(*args, **kwargs)` runs.

    What was there before does not count; results do, and what operators need within themselves. Gradients
    are as the caller has them: with them, whatever the backward pass will need is held to the end.
    """
    gc.collect()  # what is freed meanwhile would be missed, with a warning
    os.environ["KINETO_LOG_LEVEL"] = "99"  # or the profiler says on stderr that it begins and ends
    with profile(use_cpu=True, profile_memory=True) as watched:
        result = function(*args, **kwargs)
    del result
    assert watched.kineto_results is not None
    # Negative where memory is freed; some ten thousand, of which a longer loop takes longer than the call.
    sizes = (event.nbytes() for event in watched.kineto_results.events() if event.name() == "[memory]")
    return max(0, max(accumulate(sizes), default=0))
