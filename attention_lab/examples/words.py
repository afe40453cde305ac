"""Values and their differences in words."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

TOLERANCE = 1e-4  # relative and absolute: examples are written with a few digits
MOST_NUMBERS = 12  # of a result that a sentence shows


def difference(result: torch.Tensor, expected: torch.Tensor) -> str:
    """All numbers of small tensors; of large ones, and of those that look alike, the first that differs."""
    both = shown(expected), shown(result)
    if expected.numel() <= MOST_NUMBERS and both[0] != both[1]:
        return f"expected {both[0]}, got {both[1]}"
    apart = ~torch.isclose(result.double(), expected.double(), rtol=TOLERANCE, atol=TOLERANCE)
    place = apart.nonzero()[0].tolist()
    right, yours = (each[tuple(place)].item() for each in (expected, result))
    words = str(right), str(yours)
    if expected.dtype != torch.bool or result.dtype != torch.bool:
        digits = next((d for d in range(4, 17) if f"{right:.{d}g}" != f"{yours:.{d}g}"), 17)
        words = f"{right:.{digits}g}", f"{yours:.{digits}g}"
    what = "values" if expected.dtype == torch.bool else "numbers"
    count = f"{int(apart.sum())} of {apart.numel()} {what} differ"
    return f"at {place} expected {words[0]}, got {words[1]} ({count})"


def shown(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)[:200]
    if value.numel() > MOST_NUMBERS:
        return f"a tensor of shape {tuple(value.shape)} that begins {shown(value.flatten()[:4])}"
    return str(_rounded(value.detach().tolist()))


def _rounded(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_rounded(number) for number in numbers]
    return float(f"{numbers:.4g}") + 0.0 if isinstance(numbers, float) else numbers  # no -0.0


def listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))


def with_article(value: Any) -> str:
    kind = "tensor" if isinstance(value, torch.Tensor) else type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def name_of(answer: Any) -> str:
    return answer.__name__ if inspect.isroutine(answer) or inspect.isclass(answer) else type(answer).__name__
