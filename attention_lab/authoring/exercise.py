"""An exercise of this course: inputs are tensors, and what is wrong with attention weights is measured."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

import nbjudge.authoring
from attention_lab.authoring.draw import Draw
from nbjudge.authoring import (
    Case,
    DerivedArray,
    FittedCase,
    Mistake,
    WrongStep,
    first_position,
    size_behind,
    told_apart,
    with_steps,
)

AS_GOOD_AS_ZERO = 1e-6
ROUNDING = 1e-3  # of a sum of weights
MOST_ROUNDING = 2e-2  # of what is computed back through a projection


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
            yield from _a_number_for_each_key(name, numbers, expected)
            yield from _wrong_sums(name, numbers, expected)
            if _has_mask(case):
                yield from _weight_on_the_hidden(name, numbers, expected)

    def other_cases(self, case: Case) -> Iterator[tuple[str, Case]]:
        """The causal mask where it is not asked for, and the heads of one projection in another order."""
        queries, heads, built = _queries(case), _heads(case), _module(case)
        if queries:
            yield "the scores were negated", _with_larger(case, queries, -1.0)
        state = built.state if queries else {}
        for part in ("query", "key", "value") if heads > 1 else ():
            if len(state.get(f"{part}.weight", ())) != built.args[0]:
                continue  # heads of their own, or fewer of them
            for words, order in (
                ("in reverse order", list(range(heads))[::-1]),
                ("moved by one", [heads - 1, *range(heads - 1)]),
            ):
                yield f"the heads of `{part}` alone were {words}", _with_heads(case, part, order)
        if case.args and isinstance(case.args[0], torch.Tensor) and (queries or case.build is None):
            yield from _causal_as_well(case)

    def fitted_cases(self, case: Case) -> Iterator[FittedCase]:
        """Scores, or what another part of a module gives, times a number."""
        queries, built = _queries(case), _module(case)
        state = getattr(built, "state", None) or {}
        if queries:
            shapes = [value.shape for value in case.args if isinstance(value, torch.Tensor)]
            size = len(state[queries[0]]) // (_heads(case) if queries[0] == "query.weight" else 1)
            sizes = {size for size in built.args if type(size) is int}.union(*shapes)
            yield FittedCase(partial(_scale, size, sizes), partial(_with_larger, case, queries))
        parts = {name.rpartition(".")[0] for name in state if name.endswith(".weight")}
        for part in sorted(part for part in parts if not part.endswith(("query", "key")) and "0" not in part):
            names = [name for name in state if name.rpartition(".")[0] == part]
            words = f"what `{part}` gives were multiplied by {{:.4g}}".format
            yield FittedCase(words, partial(_with_larger, case, names))

    def derived_arrays(self, index: int, numbers: Any, expected: Any, case: Case) -> Iterator[DerivedArray]:
        """What reaches a layer's output projection, head by head."""
        state: Any = getattr(case.build, "state", None) or {}
        heads, weight, bias = _heads(case), state.get("output.weight"), state.get("output.bias", 0)
        if index or not heads or weight is None or numbers.shape[-1] != len(weight):
            return
        matrix, bias = np.asarray(weight, dtype=float), np.asarray(bias, dtype=float)
        rounding = float(np.finfo(numbers.dtype).eps * 8 * np.linalg.cond(matrix))
        if not np.isfinite(numbers).all() or rounding > MOST_ROUNDING:
            return
        own, right = (
            np.linalg.solve(matrix, (each - bias).reshape(-1, len(matrix)).T).T.reshape(
                *each.shape[:-1], heads, -1
            )
            for each in (numbers, expected)
        )
        axes, limit = ("batch", "tokens", "heads", "head size"), max(rounding, ROUNDING)
        yield DerivedArray("what reaches `output`", own, right, axes, limit)
        values = _values(case, heads, right.shape[-1])
        if values is not None and 1 < values.shape[-2] < values.shape[-1]:
            # Each row is a sum of values, from which the weights of the sum can be told.
            back = np.linalg.pinv(values)
            weights, expected_weights = (np.swapaxes(each, 1, 2) @ back for each in (own, right))
            if np.allclose(weights @ values, np.swapaxes(own, 1, 2), rtol=limit, atol=10 * limit):
                name = "the weights with which each head's values are multiplied"
                axes = ("batch", "heads", "queries", "keys")
                yield DerivedArray(name, weights, expected_weights, axes, 10 * limit)


def _values(case: Case, heads: int, size: int) -> Any:
    """The projected values (B, H, T, D) of a call without a cache whose module has one projection of them.

    Query heads may share them: those of fewer heads are repeated.
    """
    state, given = (
        _module(case).state,
        dict(zip(("query", "key", "value"), case.args, strict=False)) | case.kwargs,
    )
    if "value.weight" not in state or "cache" in given:
        return None
    taken = [given.get(name) for name in ("value", "key", "query")]
    x = next(
        each for each in (*taken, *case.args) if isinstance(each, torch.Tensor) and each.is_floating_point()
    )
    projected = np.asarray(x, dtype=float) @ np.asarray(state["value.weight"], dtype=float).T
    projected += np.asarray(state.get("value.bias", 0.0), dtype=float)
    own_heads = projected.shape[-1] // size
    if own_heads * size != projected.shape[-1] or heads % own_heads:
        return None
    values = np.swapaxes(projected.reshape(*projected.shape[:-1], own_heads, size), 1, 2)
    return np.repeat(values, heads // own_heads, axis=1)


def _module(case: Case) -> Any:
    """What makes the module, of torch's kind if it has a state; None if the answer is a function."""
    return case.build


def _queries(case: Case) -> list[str]:
    """The names of the weights that make queries."""
    state = getattr(case.build, "state", None) or {}
    return [name for name in state if re.search(r"(^|\.)query\.(weight|bias)$", name)]


def _heads(case: Case) -> int:
    """The number of heads of a module that is made with (embed_dim, num_heads, …); else 0."""
    whole = [value for value in case.build.args if type(value) is int] if case.build else []
    return whole[1] if len(whole) > 1 and not whole[0] % whole[1] else 0


def _with_larger(case: Case, names: list[str], factor: float) -> Case:
    built: Any = case.build
    larger = {name: factor * built.state[name] for name in names}
    return replace(case, build=replace(built, state=built.state | larger))


def _with_heads(case: Case, part: str, order: list[int]) -> Case:
    built: Any = case.build
    names = [name for name in built.state if name.startswith(f"{part}.")]
    rows = {name: built.state[name].unflatten(0, (len(order), -1))[order].flatten(0, 1) for name in names}
    return replace(case, build=replace(built, state=built.state | rows))


def _scale(size: int, others: set[int], factor: float) -> str:
    """Say in words by what the scores of vectors of `size` numbers were divided, and not by their root."""
    divisor = size**0.5 / factor
    known = {"not divided by √D": 1.0, "divided by D, and not by √D": float(size)}
    known |= {
        "multiplied by √D, and not divided": size**-0.5,
        "divided by √(D / 2), and not by √D": (size / 2) ** 0.5,
    }
    known |= {
        "divided by √(2 D), and not by √D": (2 * size) ** 0.5,
        "divided by 2 √D, and not by √D": 2 * size**0.5,
    }
    known |= {"divided by the fourth root of D, and not by √D": size**0.25}
    for other in sorted(others - {1, size}):
        known[f"divided by √{other}, and not by √{size}"] = other**0.5
        known[f"divided by {other}, and not by √{size}"] = float(other)
    words = (words for words, value in known.items() if abs(divisor / value - 1) < ROUNDING)
    return f"the scores were {next(words, f'{factor:.4g} times what they should be')}"


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


def _a_number_for_each_key(name: str, weights: Any, expected: Any) -> Iterator[str]:
    """Say that something that depends on the key alone was added to the scores."""
    are_weights = (expected > 0).all() and np.allclose(weights.sum(-1), 1, atol=ROUNDING)
    if weights.ndim < 2 or min(weights.shape[-2:]) < 3 or not are_weights or (weights <= 0).any():
        return
    own, right = (
        each
        - each.mean(-1, keepdims=True)
        - each.mean(-2, keepdims=True)
        + each.mean((-1, -2), keepdims=True)
        for each in (np.log(weights), np.log(expected))
    )
    factor = float((own * right).sum() / max((right * right).sum(), AS_GOOD_AS_ZERO))
    if np.allclose(own, factor * right, rtol=ROUNDING, atol=ROUNDING):
        times = f" {factor:.4g} times as large as they should be, and" if abs(factor - 1) > ROUNDING else ""
        yield (
            f"{name} come from scores that are{times} off by a number of its own for each key: look at what "
            "depends on the key alone, such as its length."
        )


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
        answer: Any = change
        if isinstance(change, Mapping):
            assert right is not None
            answer = with_steps(right, change, name)
        answer.__name__, answer.__module__ = name, module
        file = module.rpartition(".")[2]
        mistake = Mistake(name, sentence, exercise.as_called(answer), file)
        exercise.mistakes.append(mistake)
        if right is not None and isinstance(change, Mapping):
            exercise.steps.append(WrongStep(right, change, mistake=mistake))
