"""A result against what is right: number of results, kind, shape, dtype, numbers, in this order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from attention_lab.examples.words import TOLERANCE, difference, shown, with_article


def compare(call: str, result: Any, gives: Any, names: Sequence[str], dtype: torch.dtype | None) -> None:
    """Assert that a result is what an example `gives`, see `example`; dtype: of its floating numbers."""
    __tracebackhide__ = True
    assert result is not None, f"{call}: there is no result. Is there a return?"
    if not isinstance(gives, tuple):
        _compare_one(call, result, gives, dtype)
        return
    as_many = isinstance(result, (tuple, list)) and len(result) == len(gives)
    message = f"{call}: return {len(gives)} results, {' and '.join(names)}, not {with_article(result)}."
    assert as_many, message
    parts = zip(names, result, gives, strict=False)
    for name, one, expected in sorted(parts, key=lambda part: part[0] != "weights"):  # they are made first
        if expected is not ...:
            _compare_one(f"{call}: {name}", one, expected, dtype)


def _compare_one(call: str, result: Any, gives: Any, dtype: torch.dtype | None) -> None:
    __tracebackhide__ = True
    if isinstance(gives, dict) and isinstance(result, dict):
        missing = [name for name in gives if name not in result]
        assert not missing, f"{call}: {', '.join(missing)} is missing; yours holds {', '.join(result)}."
        for name, expected in gives.items():
            _compare_one(f"{call}: {name}", result[name], expected, dtype)
        return
    if isinstance(gives, (bool, int, float, str, dict)):
        kind = isinstance(result, type(gives)) and isinstance(result, bool) == isinstance(gives, bool)
        right = kind and (result == gives or _close(result, gives))
        yours = f"{shown(result)} ({with_article(result)})"
        assert right, f"{call}: expected {gives!r} ({with_article(gives)}), got {yours}."
        return
    expected = gives if isinstance(gives, torch.Tensor) else torch.tensor(gives)
    assert isinstance(result, torch.Tensor), f"{call}: expected a tensor, got {with_article(result)}."
    shapes = f"expected shape {tuple(expected.shape)}, got {tuple(result.shape)}"
    assert result.shape == expected.shape, f"{call}: {shapes}."
    floating = expected.is_floating_point() or (dtype is not None and expected.dtype is torch.int64)
    if floating and result.is_floating_point():
        wanted = dtype or result.dtype
    else:
        wanted = dtype if floating and dtype is not None else expected.dtype
    assert result.dtype == wanted, f"{call}: expected dtype {wanted}, got {result.dtype}."
    if result.is_floating_point():
        assert not result.isnan().any(), f"{call}: the result contains NaN, {shown(result)}."
    equal = torch.allclose(result.double(), expected.double(), rtol=TOLERANCE, atol=TOLERANCE)
    assert equal, f"{call}: {difference(result.detach(), expected.detach())}."


def _close(result: Any, gives: Any) -> bool:
    return isinstance(gives, float) and math.isclose(result, gives, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
