"""The tensors in the arguments of an example, however deeply they are nested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def floating(args: Sequence[Any]) -> torch.dtype | None:
    return next((each.dtype for each in tensors_in(args) if each.is_floating_point()), None)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in an argument, or in a list of them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for entry in value for tensor in tensors_in(entry)]
    return []


def lists_alike(one: Any, other: Any) -> bool:
    """Whether lists are as long as they were, and the lists in them."""
    if not isinstance(one, (list, tuple)):
        return True
    return len(one) == len(other) and all(map(lists_alike, one, other))


def with_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same, with each tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: with_tensors(entry, change) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(with_tensors(entry, change) for entry in value)
    return value


def is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def several(results: Any) -> Sequence[Any]:
    return results if isinstance(results, (tuple, list)) else [results]
