"""An exercise of this course: inputs are tensors, and what is wrong with attention weights is measured."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

import nbjudge.authoring
from attention_lab.authoring.draw import Draw
from nbjudge.authoring import Case, Mistake, first_position, size_behind, told_apart

AS_GOOD_AS_ZERO = 1e-6
ROUNDING = 1e-3  # of a sum of weights


@dataclass(eq=False)
class Exercise(nbjudge.authoring.Exercise):
    """One graded answer whose inputs come from this course's `Draw`.

    `weights` says which of its results has rows that sum to 1.
    """

    draw: type[Draw] = Draw
    weights: int | None = None
    # The contract says that no argument is changed. It is said here, and not in nbgrader_config.py, because a
    # learner's tutor has the checks and no configuration.
    changed_arguments: str | None = "one group"

    def order_of_computation(self, count: int) -> list[int]:
        """The weights come before the output that is made of them: what went wrong first is named first."""
        return sorted(range(count), key=lambda index: index != self.weights)

    def describe_array(self, index: int, name: str, numbers: Any, expected: Any, case: Case) -> Iterator[str]:
        """NaN, scores for weights, rows that do not sum to what they should, weight on what a mask hides."""
        if index == self.weights:
            yield from _not_a_number(name, numbers, expected)
            yield from _softmax_too_often_or_never(name, numbers, expected)
            yield from _other_scale(name, numbers, expected, case)
            yield from _wrong_sums(name, numbers, expected)
            if _has_mask(case):
                yield from _weight_on_the_hidden(name, numbers, expected)

    def other_cases(self, case: Case) -> Iterator[tuple[str, Case]]:
        """Scores times the sizes of what went in, and the causal mask where it is not asked for."""
        built: Any = case.build  # of torch's kind, if it has a state
        state = getattr(built, "state", None) or {}
        queries = [name for name in state if re.search(r"(^|\.)query\.(weight|bias)$", name)]
        if queries:
            size = len(state[queries[0]])
            whole = [value for value in built.args if type(value) is int]
            if len(whole) > 1 and size == whole[0]:  # one projection for all heads
                size //= whole[1]
            shapes = [value.shape for value in case.args if isinstance(value, torch.Tensor)]
            for words, factor in _scales(size, {*whole, *(each for shape in shapes for each in shape)}):
                larger = state | {name: factor * state[name] for name in queries}
                yield words, replace(case, build=replace(built, state=larger))
        if case.args and isinstance(case.args[0], torch.Tensor) and (queries or case.build is None):
            yield from _causal_as_well(case)


def _scales(size: int, others: set[int]) -> Iterator[tuple[str, float]]:
    """Wrong scales of scores of vectors of `size` numbers, in words and as what they are multiplied by."""
    root = size**0.5
    yield "the scores were negated", -1.0
    yield "the scores were not divided by √D", root
    yield "the scores were divided by D, and not by √D", 1 / root
    yield "the scores were multiplied by √D, and not divided", float(size)
    for other in sorted(others - {1, size}):
        yield f"the scores were divided by √{other}, and not by √{size}", root / other**0.5
        yield f"the scores were divided by {other}, and not by √{size}", root / other


def _causal_as_well(case: Case) -> Iterator[tuple[str, Case]]:
    x = case.args[0]
    masks = [name for name in case.kwargs if name == "mask"]
    if not masks and len(case.args) == 1 and x.dim() > 1:
        causal = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril()
        yield "a causal mask were there", replace(case, kwargs={**case.kwargs, "mask": causal})
    for name in masks:
        mask = case.kwargs[name]
        causal = torch.ones(x.shape[-2], mask.shape[-1], dtype=torch.bool).tril()
        yield "a causal mask were there as well", replace(case, kwargs={**case.kwargs, name: mask & causal})


def _not_a_number(name: str, weights: Any, expected: Any) -> Iterator[str]:
    gone = np.isnan(weights)
    if gone.any():
        *_, row, _ = (0, *first_position(gone))
        is_empty = not expected[gone.any(axis=-1)].any()
        yield f"{name} is NaN in row {row}" + (
            ", whose keys are all hidden: a softmax of nothing but −∞ is not defined. Set such weights to 0 "
            "before they are used and returned."
            if is_empty
            else ", though it has keys to see: its scores are all −∞, or one is NaN (as 0 · (−∞) is) or "
            "infinite, or has an infinite exponential."
        )


def _softmax_too_often_or_never(name: str, weights: Any, expected: Any) -> Iterator[str]:
    if not expected.size or not np.isfinite(weights).all():
        return
    if np.allclose(softmax(weights, axis=-1), expected, rtol=ROUNDING, atol=AS_GOOD_AS_ZERO):
        yield f"{name} are the scores as they are before the softmax: their softmax is right."
    elif np.allclose(softmax(expected, axis=-1), weights, rtol=ROUNDING, atol=AS_GOOD_AS_ZERO):
        yield f"{name} have been through the softmax twice: once is right, and then they are the weights."


def _other_scale(name: str, weights: Any, expected: Any, case: Case) -> Iterator[str]:
    """Say that weights come from scores that are too large or too small by one factor."""
    seen = expected > AS_GOOD_AS_ZERO
    if not (weights[seen] > 0).all() or seen.sum() < 2:
        return
    logarithms = [np.log(np.where(seen, each, 1.0)) for each in (weights, expected)]
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    own, right = (
        np.where(seen, logarithm - logarithm.sum(-1, keepdims=True) / count, 0.0) for logarithm in logarithms
    )
    factor = float((own * right).sum() / max((right * right).sum(), AS_GOOD_AS_ZERO))
    rescaled = np.where(seen, np.exp(factor * logarithms[1]), 0.0)
    rescaled /= np.maximum(rescaled.sum(axis=-1, keepdims=True), AS_GOOD_AS_ZERO)
    if abs(factor - 1) > ROUNDING and np.allclose(rescaled, weights, rtol=ROUNDING, atol=1e-5):
        behind = size_behind(factor, case)
        yield f"{name} come from scores that are {factor:.4g} times what they should be{behind}."


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


# ---- mistakes in a table: what a right answer becomes when one of its steps is changed

# Other attributes of a class or other keyword arguments of a function; or the whole answer, as a lambda.
Change = Mapping[str, Any] | Callable[..., Any]


def add_mistakes(
    exercise: Exercise, right: Callable[..., Any] | None = None, /, **mistakes: tuple[str, Change]
) -> None:
    """Add mistakes, by name: the sentence that helps, and what is changed about `right`.

    They are looked for in this order, behind those that the exercise has already. The demo class and the
    benchmarks read them from the file, so write the table into the call.
    """
    module = sys._getframe(1).f_globals["__name__"]
    for name, (sentence, change) in mistakes.items():
        answer = changed(right, name, change)
        answer.__module__ = module
        file = module.rpartition(".")[2]
        exercise.mistakes.append(Mistake(name, sentence, exercise.as_called(answer), file))


def changed(right: Callable[..., Any] | None, name: str, change: Change) -> Any:
    """Return `right` with a change, under a name of its own."""
    if not isinstance(change, Mapping):
        change.__name__ = name
        return change
    assert right is not None
    if isinstance(right, type):
        return type(name, (right,), dict(change))

    def answer(*args: Any, **kwargs: Any) -> Any:
        return right(*args, **kwargs, **change)

    answer.__name__ = name
    return answer
