"""What can be measured of a wrong answer that no named mistake explains, most specific first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from nbjudge.ask.answers import Answer, answers_of, calls_for
from nbjudge.ask.program.respond import SIDES
from nbjudge.authoring.exercise import Case, Exercise
from nbjudge.judge import wording
from nbjudge.judge.compare import same_gradients, same_tensor, same_value
from nbjudge.values.packing import Unreadable


def measure(
    exercise: Exercise, reference: Callable[..., Any], case: Case, answer: Answer, expected: Answer
) -> str:
    """One sentence on how `answer` misses `expected`."""
    if case.refuses is not None and answer.status == "raised" and answer.error != "NotImplementedError":
        return wording.refuses_badly(exercise, case, answer)
    if answer.status != "value":
        return wording.no_value(exercise, answer)
    if case.refuses is not None:
        return wording.should_refuse(exercise, case)
    if answer.changed:
        return wording.changed_arguments(exercise, reference, answer.changed)
    if expected.status != "value" or not same_value(answer.value, expected.value, exercise.tolerance):
        return _wrong_value(exercise, reference, case, answer.value, expected.value)
    if case.gradients and not same_gradients(answer, expected, exercise.tolerance):
        return wording.wrong_gradients(exercise, reference, answer, expected)
    return f"`{exercise.name}` does not behave as the exercise asks."


def evidence_of(exercise: Exercise, case: Case, answer: Answer) -> str:
    """The student's own numbers in one failing case, short enough to read."""
    if isinstance(answer.value, dict):
        named = [(name, answer.value[name]) for name in exercise.results if name in answer.value]
    else:
        values = answer.value if isinstance(answer.value, (list, tuple)) else [answer.value]
        named = list(zip(exercise.results, values, strict=False))
    shown = [
        f"your {name}: {wording.shown(value)}"
        for name, value in named
        if isinstance(value, float) or (isinstance(value, torch.Tensor) and value.numel())
    ] or [f"yours is {wording.short(answer.value)}"]
    return f"Asked with {wording.describe_call(case)}: {'; '.join(shown)}."


def _wrong_value(
    exercise: Exercise, reference: Callable[..., Any], case: Case, value: Any, expected: Any
) -> str:
    if isinstance(expected, dict) and isinstance(value, dict):
        return _wrong_look(exercise, reference, case, value, expected)
    several = isinstance(expected, (list, tuple))
    if several != isinstance(value, (list, tuple)) or (several and len(value) != len(expected)):
        return wording.wrong_number(exercise, value, expected)
    if several and all(
        same_value(mine, right, exercise.tolerance) for mine, right in zip(value, expected[::-1], strict=True)
    ):
        return wording.wrong_order(exercise)
    pairs = list(zip(value, expected, strict=True)) if several else [(value, expected)]
    agreeing = [
        name
        for name, (mine, right) in zip(exercise.results, pairs, strict=False)
        if same_value(mine, right, exercise.tolerance)
    ]
    # The weights come before the output that is made of them: name what went wrong first.
    order = sorted(range(len(pairs)), key=lambda index: index != exercise.weights)
    for index in order:
        mine, right = pairs[index]
        if same_value(mine, right, exercise.tolerance):
            continue
        name = exercise.results[index] if index < len(exercise.results) else "result"
        sentence = next(_measurements(exercise, reference, case, index, name, mine, right))
        rest = f" {wording.agreement(agreeing)}" if agreeing else ""
        return sentence + rest
    return f"`{exercise.name}` does not return what the exercise asks for."


def _wrong_look(
    exercise: Exercise,
    reference: Callable[..., Any],
    case: Case,
    value: dict[str, Any],
    expected: dict[str, Any],
) -> str:
    """A dict, or a module that was looked at from several sides: the first entry that differs."""
    for side, right in expected.items():
        mine = value.get(side)
        if same_value(mine, right, exercise.tolerance):
            continue
        if side.startswith("result") or (isinstance(mine, dict) and side not in SIDES):
            return _wrong_value(exercise, reference, case, mine, right)
        if side in SIDES:
            return wording.wrong_parts(exercise, side, mine, right)
        if side not in value:
            return f"`{side}` is missing from what `{exercise.name}` gives."
        index = exercise.results.index(side) if side in exercise.results else len(exercise.results)
        return next(_measurements(exercise, reference, case, index, f"`{side}`", mine, right))
    extra = [f"`{side}`" for side in value if side not in expected]
    return f"`{exercise.name}` gives {wording.listed(extra)} besides what the exercise asks for."


def _measurements(
    exercise: Exercise,
    reference: Callable[..., Any],
    case: Case,
    index: int,
    name: str,
    mine: Any,
    right: Any,
) -> Iterator[str]:
    if not isinstance(mine, torch.Tensor) or not isinstance(right, torch.Tensor):
        if isinstance(mine, Unreadable) or type(mine) is not type(right):
            several = len(exercise.results) > 1
            yield wording.wrong_kind(name if several else f"`{exercise.name}`", mine, right, several)
        both = (mine, right)
        plain = all(isinstance(value, float) for value in both)
        yours, other = wording.told_apart(*both) if plain else map(wording.short, both)
        yield f"`{exercise.name}` gives {yours}, and {other} is right."
        return
    axes = exercise.axes[index] if index < len(exercise.axes) else ()
    if mine.shape != right.shape:
        yield wording.wrong_shape(name, mine, right, axes)
    if mine.dtype != right.dtype:
        yield f"{name} has dtype {_dtype(mine)}, and {_dtype(right)} was asked for."
    if mine.is_floating_point():
        is_weights = index == exercise.weights
        yield from _float_measurements(exercise, name, mine, right, is_weights, _has_mask(case))
    yield from _argument_measurements(exercise, reference, case, mine, index, name)
    position = _largest_difference(mine, right)
    yours, other = wording.told_apart(mine[position], right[position])
    yield (
        f"{name} has the right shape but other numbers: at {list(position)} yours is {yours}, "
        f"and {other} is right."
    )


def _float_measurements(
    exercise: Exercise, name: str, mine: torch.Tensor, right: torch.Tensor, is_weights: bool, masked: bool
) -> Iterator[str]:
    tolerance = exercise.tolerance
    for kind, where in (("NaN", mine.isnan()), ("infinite", mine.isinf() & ~right.isinf())):
        if bool(where.any()):
            position = tuple(where.nonzero()[0].tolist())
            row = f"row {position[-2]}" if len(position) > 1 else f"position {list(position)}"
            yield f"{name} is {kind} in {row} ({int(where.sum())} of {where.numel()} numbers)."
    if mine.dim() >= 2 and mine.shape[-1] == mine.shape[-2] and same_tensor(mine.mT, right, tolerance):
        yield f"{name} is transposed: the last two axes have changed places."
    if is_weights:
        sums = mine.sum(dim=-1)
        target = right.sum(dim=-1)
        off = (sums - target).abs() > 1e-3
        if bool(off.any()):
            position = tuple(off.nonzero()[0].tolist())
            yours, other = wording.told_apart(sums[position], target[position])
            yield f"The rows of {name} do not sum to {other}: row {list(position)} sums to {yours}."
    factor = constant_factor(mine, right)
    if factor is not None:
        yield f"Every number in {name} is {factor:.4g} times what it should be."
    hidden = (right == 0) & (mine.abs() > 1e-6)
    if is_weights and masked and bool(hidden.any()):
        position = tuple(hidden.nonzero()[0].tolist())
        ahead = len(position) > 1 and bool((right.triu(1) == 0).all()) and position[-1] > position[-2]
        place = (
            f"query {position[-2]}, key {position[-1]}" if len(position) > 1 else f"position {list(position)}"
        )
        what = "looks into the future" if ahead else "attends where the mask forbids it"
        yield f"{name} {what}: {wording.number(mine[position])} at {place}, where 0 is right."


def _has_mask(case: Case) -> bool:
    values = [*case.args, *case.kwargs.values()]
    return any(isinstance(value, torch.Tensor) and value.dtype == torch.bool for value in values)


def constant_factor(mine: torch.Tensor, right: torch.Tensor) -> float | None:
    """The number c with mine = c * right, where there is one other than 1."""
    large = right.abs() > right.abs().max() * 1e-2
    if not bool(large.any()) or not bool(right.isfinite().all()) or not bool(mine.isfinite().all()):
        return None
    factor = float((mine[large] / right[large]).median())
    close = torch.allclose(mine, factor * right, rtol=1e-3, atol=1e-5 * max(1.0, abs(factor)))
    return factor if close and abs(factor) > 1e-6 and abs(factor - 1) > 1e-3 else None


def _argument_measurements(
    exercise: Exercise, reference: Callable[..., Any], case: Case, mine: torch.Tensor, index: int, name: str
) -> Iterator[str]:
    """Does the answer equal the right one for fewer arguments? Then the argument is not used."""
    names = wording.argument_names(reference)
    for position in range(len(case.args) - 1, 0, -1):
        shorter = replace(case, args=case.args[:position], kwargs={}, gradients=False)
        if _gives(reference, shorter, index, mine, exercise):
            yield f"{name} is the same as if `{names[position]}` had not been given: it is not used."
    for keyword in case.kwargs:
        rest = {key: value for key, value in case.kwargs.items() if key != keyword}
        if _gives(reference, replace(case, kwargs=rest, gradients=False), index, mine, exercise):
            yield f"{name} is the same as if `{keyword}` had not been given: it is not used."


def _gives(
    reference: Callable[..., Any], case: Case, index: int, mine: torch.Tensor, exercise: Exercise
) -> bool:
    (answer,) = answers_of(reference, calls_for([case], [None]))
    values = answer.value if isinstance(answer.value, (list, tuple)) else [answer.value]
    if answer.status != "value" or index >= len(values):
        return False
    return same_value(mine, values[index], exercise.tolerance)


def _largest_difference(mine: torch.Tensor, right: torch.Tensor) -> tuple[int, ...]:
    difference = (mine.double() - right.double()).abs().nan_to_num(nan=float("inf"))
    return tuple(int(i) for i in torch.unravel_index(difference.argmax(), difference.shape))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
