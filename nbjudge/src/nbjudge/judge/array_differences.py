"""What can be measured of a wrong array: its shape, its dtype, and how its numbers miss the right ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nbjudge.authoring.case import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.judge.array_patterns import closeness, constant_difference, narrower_dtype, origin, partly
from nbjudge.values.arrays import DOUBLE, ArrayKind
from nbjudge.values.describe import told_apart

__all__ = ["differences", "other_numbers", "patterns", "place", "row_that_differs", "told_apart"]


def differences(
    exercise: Exercise, case: Case, kind: ArrayKind, index: int, name: str, value: Any, expected: Any
) -> Iterator[str]:
    """Sentences on how result `index` misses the expected one, the most specific first."""
    axes = exercise.axes[index] if index < len(exercise.axes) else ()
    if tuple(value.shape) != tuple(expected.shape):
        yield _wrong_shape(name, tuple(value.shape), tuple(expected.shape), axes)
        return
    mine, right = kind.dtype(value), kind.dtype(expected)
    if mine != right:
        yield f"{name} has dtype {mine}, and {right} was asked for."
    numbers, wanted = kind.as_numbers(value), kind.as_numbers(expected)
    if numbers.dtype.kind == "f" and wanted.dtype.kind in "fiu":
        tolerance = _tolerance(exercise, mine)
        with np.errstate(all="ignore"):
            yield from _not_finite(name, numbers, wanted)
            yield from _transposed(name, numbers, wanted, tolerance)
            yield from narrower_dtype(name, numbers, wanted)
            yield from exercise.measure(index, name, numbers, wanted, case)
            factor = constant_factor(numbers, wanted)
            if factor is not None:
                from_where = origin(factor, case)
                yield f"Every number in {name} is {factor:.4g} times what it should be{from_where}."


def patterns(
    exercise: Exercise, kind: ArrayKind, index: int, name: str, value: Any, expected: Any
) -> Iterator[str]:
    """What can be seen of wrong numbers where their cause cannot: a difference, a part that agrees."""
    numbers, wanted = kind.as_numbers(value), kind.as_numbers(expected)
    if numbers.shape == wanted.shape and numbers.dtype.kind == "f" and wanted.dtype.kind in "fiu":
        axes = exercise.axes[index] if index < len(exercise.axes) else ()
        with np.errstate(all="ignore"):
            yield from constant_difference(name, numbers, wanted)
            yield from partly(name, numbers, wanted, _tolerance(exercise, kind.dtype(value)), axes)


def other_numbers(exercise: Exercise, kind: ArrayKind, name: str, value: Any, expected: Any) -> str:
    """Where two arrays of one shape are furthest apart: when nothing else can be said."""
    numbers, wanted = kind.as_numbers(value), kind.as_numbers(expected)
    position = _largest_difference(numbers, wanted)
    yours, other = told_apart(numbers[position], wanted[position])
    near = ""
    if numbers.dtype.kind == "f" and wanted.dtype.kind in "fiu":
        near = closeness(numbers, wanted, _tolerance(exercise, kind.dtype(value)))
    return (
        f"{name} has the right shape but other numbers: at {list(position)} yours is {yours}, "
        f"and {other} is right.{near}"
    )


def place(where: Any) -> tuple[int, ...]:
    """The first position at which a boolean array is true."""
    return tuple(int(axis) for axis in np.argwhere(where)[0])


def row_that_differs(mine: Any, right: Any) -> tuple[int, ...]:
    """Where the first row stands that differs from the right one; the first of all where none does."""
    first = (0,) * max(mine.ndim - 1, 0)
    numeric = mine.dtype.kind in "biufc" and right.dtype.kind in "biufc"
    if mine.ndim < 2 or mine.shape != right.shape or not numeric:
        return first
    with np.errstate(all="ignore"):
        differs = ~np.isclose(mine, right, rtol=1e-4, atol=1e-4, equal_nan=True).all(axis=-1)
    return place(differs) if differs.any() else first


def _tolerance(exercise: Exercise, dtype: str) -> tuple[float, float]:
    return exercise.tolerance.float64 if dtype in DOUBLE else exercise.tolerance.float32


def _wrong_shape(name: str, mine: tuple[int, ...], right: tuple[int, ...], axes: Sequence[str]) -> str:
    named = f" (…, {', '.join(axes)})" if len(axes) < len(right) else f" ({', '.join(axes)})"
    sentence = f"{name} has shape {mine}, and {right} was asked for"
    sentence += f":{named}." if axes else "."
    if len(mine) == len(right) >= 2 and (*mine[:-2], mine[-1], mine[-2]) == right:
        sentence += " The last two axes have changed places."
    return sentence


def _not_finite(name: str, mine: Any, right: Any) -> Iterator[str]:
    for kind, where in (("NaN", np.isnan(mine)), ("infinite", np.isinf(mine) & ~np.isinf(right))):
        if where.any():
            position = place(where)
            row = f"row {position[-2]}" if len(position) > 1 else f"position {list(position)}"
            yield f"{name} is {kind} in {row} ({int(where.sum())} of {where.size} numbers)."


def _transposed(name: str, mine: Any, right: Any, tolerance: tuple[float, float]) -> Iterator[str]:
    if mine.ndim >= 2 and mine.shape[-1] == mine.shape[-2] and mine.dtype == right.dtype:
        rtol, atol = tolerance
        if np.allclose(np.swapaxes(mine, -1, -2), right, rtol=rtol, atol=atol):
            yield f"{name} is transposed: the last two axes have changed places."


def constant_factor(mine: Any, right: Any) -> float | None:
    """The number c with mine = c * right, where there is one other than 1."""
    if not right.size or not np.isfinite(right).all() or not np.isfinite(mine).all():
        return None
    large = abs(right) > abs(right).max() * 1e-2
    if not large.any():
        return None
    factor = float(np.median(mine[large] / right[large]))
    close = np.allclose(mine, factor * right, rtol=1e-3, atol=1e-5 * max(1.0, abs(factor)))
    return factor if close and abs(factor) > 1e-6 and abs(factor - 1) > 1e-3 else None


def _largest_difference(mine: Any, right: Any) -> tuple[int, ...]:
    if mine.dtype.kind in "biufc" and right.dtype.kind in "biufc":
        with np.errstate(all="ignore"):
            wide = np.complex128 if "c" in (mine.dtype.kind, right.dtype.kind) else np.float64
            distance = np.nan_to_num(abs(mine.astype(wide) - right.astype(wide)), nan=np.inf)
    else:
        distance = mine != right
    return tuple(int(axis) for axis in np.unravel_index(int(np.argmax(distance)), distance.shape))
