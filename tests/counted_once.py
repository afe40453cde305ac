"""Memory and multiplications, counted once for all seeds: they follow from the sizes of what is handed over.

A count takes half a second, and a question about memory has a dozen different sizes on two hundred seeds.
"""

from __future__ import annotations

from typing import Any

import torch

from nbjudge.authoring.cases import as_kernel_code
from nbjudge.probe import respond
from nbjudge.torch.memory import all_memory_of, memory_of, multiplications_of

COUNTS = {as_kernel_code(count).code for count in (memory_of, all_memory_of, multiplications_of)}
answer_call = respond._answer


class CountedOnce:
    """Stands for `respond._answer`."""

    def __init__(self) -> None:
        self.known: dict[Any, dict[str, Any]] = {}

    def __call__(self, function, call, recording):
        measure = call.get("measure")
        if measure is None or measure.code not in COUNTS or recording.watched_calls:
            return answer_call(function, call, recording)
        key = function, measure.code, _sizes(call["args"]), _sizes(call["kwargs"])
        if key in self.known:
            return answer_call(function, call | {"measure": None}, recording) | {"measured": self.known[key]}
        answer = answer_call(function, call, recording)
        if "measured" in answer:
            self.known[key] = answer["measured"]
        return answer


def _sizes(value: Any) -> Any:
    """What a count may hang on: sizes and dtypes of tensors, and all else as it is."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype
    if isinstance(value, dict):
        return tuple((name, _sizes(each)) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_sizes, value))
    return value
