"""Answers that work on one kind of input only: an example with other kinds of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from attention_lab.examples.comparison import compare
from attention_lab.examples.tensors import is_floating, several, tensors_in, with_tensors


def compare_other_kinds(
    call: str,
    answer: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    gives: Any,
    names: Sequence[str],
    gradients: bool,
) -> None:
    """Call `answer` with other numbers, in float64, with gradients, and again as at first."""
    __tracebackhide__ = True
    answer(
        *with_tensors(args, lambda numbers: numbers * 2 if numbers.is_floating_point() else numbers),
        **kwargs,
    )
    compare(f"{call}, called once more after other numbers", answer(*args, **kwargs), gives, names, None)
    # A module's parameters are float32 and take part.
    dtype = torch.float32 if isinstance(answer, torch.nn.Module) else torch.float64

    def converted(numbers: torch.Tensor) -> torch.Tensor:
        return numbers.to(dtype, copy=True) if numbers.is_floating_point() else numbers

    other, more = with_tensors(args, converted), with_tensors(kwargs, converted)
    if dtype == torch.float64:
        compare(f"{call}, in float64", answer(*other, **more), gives, names, dtype)
    if not gradients:
        return
    inputs = [each.requires_grad_() for each in tensors_in(other) if each.is_floating_point()]
    results = answer(*other, **more)
    total = sum(r.double().square().sum() for r in several(results) if is_floating(r))
    message = (
        f"{call}: no gradient comes back. Leave out detach, no_grad, item, and torch.tensor of a result."
    )
    assert isinstance(total, torch.Tensor) and total.requires_grad, message
    for number, gradient in enumerate(torch.autograd.grad(total, inputs, allow_unused=True), start=1):
        assert gradient is not None, f"{call}: no gradient comes back to floating argument {number}."
        assert not gradient.isnan().any(), f"{call}: the gradient of floating argument {number} is NaN."
