"""How much memory a function takes: counted by torch, not timed."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from nbjudge.torch.memory import allocations, most_at_once


def peak_bytes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """The most bytes that torch holds at once while `function(*args, **kwargs)` runs.

    What was there before does not count; results do, and what operators need within themselves. Gradients
    are as the caller has them: with them, whatever the backward pass will need is held to the end.
    """
    gc.collect()  # what is freed meanwhile would be missed, with a warning
    with allocations() as sizes:
        result = function(*args, **kwargs)
    del result
    return most_at_once(sizes)
