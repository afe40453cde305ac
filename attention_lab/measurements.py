"""What can be measured of wrong attention weights, for the checks and for a tutor without checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.special import softmax

import nbjudge.authoring
from nbjudge.authoring import Case
from nbjudge.judge.array_messages import first_position
from nbjudge.judge.describe import told_apart

AS_GOOD_AS_ZERO = 1e-6
ROUNDING = 1e-3  # of a sum of weights


@dataclass(eq=False)
class AttentionExercise(nbjudge.authoring.Exercise):
    """One graded answer; `weights` says which of its results has rows that sum to 1."""

    IS_RECORDED: ClassVar[bool] = True
    weights: int | None = None

    def order_of_computation(self, count: int) -> list[int]:
        """The weights come before the output that is made of them: what went wrong first is named first."""
        return sorted(range(count), key=lambda index: index != self.weights)

    def describe_array(self, index: int, name: str, numbers: Any, expected: Any, case: Case) -> Iterator[str]:
        """Scores for weights, rows that do not sum to what they should, weight on what a mask hides."""
        if index == self.weights:
            yield from _softmax_too_often_or_never(name, numbers, expected)
            yield from _wrong_sums(name, numbers, expected)
            if _has_mask(case):
                yield from _weight_on_the_hidden(name, numbers, expected)


def _softmax_too_often_or_never(name: str, weights: Any, expected: Any) -> Iterator[str]:
    if not expected.size or not np.isfinite(weights).all():
        return
    if np.allclose(softmax(weights, axis=-1), expected, rtol=ROUNDING, atol=AS_GOOD_AS_ZERO):
        yield f"{name} are the scores as they are before the softmax: their softmax is right."
    elif np.allclose(softmax(expected, axis=-1), weights, rtol=ROUNDING, atol=AS_GOOD_AS_ZERO):
        yield f"{name} have been through the softmax twice: once is right, and then they are the weights."


def _wrong_sums(name: str, weights: Any, expected: Any) -> Iterator[str]:
    sums, target = weights.sum(axis=-1), expected.sum(axis=-1)
    off = abs(sums - target) > ROUNDING
    if off.any():
        position = first_position(off)
        yours, other = told_apart(sums[position], target[position])
        if not position:
            yield f"The {name} do not sum to {other}: they sum to {yours}."
        elif target[position] == 0:
            yield (
                f"Row {list(position)} of the {name} sums to {yours}, expected 0: all its keys are hidden, "
                "so each of its weights must be 0."
            )
        else:
            yield f"The rows of {name} do not sum to {other}: row {list(position)} sums to {yours}."


def _weight_on_the_hidden(name: str, weights: Any, expected: Any) -> Iterator[str]:
    hidden = (expected == 0) & (abs(weights) > AS_GOOD_AS_ZERO)
    if not hidden.any():
        return
    position = first_position(hidden)
    matrix = len(position) > 1
    ahead = matrix and not np.triu(expected, 1).any() and position[-1] > position[-2]
    where = f"query {position[-2]}, key {position[-1]}" if matrix else f"position {list(position)}"
    what = "looks into the future" if ahead else "attends where the mask forbids it"
    yours, _ = told_apart(weights[position], 0.0)
    yield f"{name} {what}: {yours} at {where}, where 0 is right."


def _has_mask(case: Case) -> bool:
    values = [*case.args, *case.kwargs.values()]
    return any(isinstance(value, torch.Tensor) and value.dtype == torch.bool for value in values)
