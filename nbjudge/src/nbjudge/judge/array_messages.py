"""Descriptions of wrong arrays: shape mismatch, dtype, NaN, transposed, constant factor, wrong rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.judge.array_functions import FUNCTIONS, LOSSY
from nbjudge.judge.describe import listed, told_apart
from nbjudge.judge.findings import Cause
from nbjudge.judge.verdict import Finding
from nbjudge.values.kinds import DOUBLE, ArrayKind, is_array, kind_of, owned_values

SHORTEST_AXIS = 3  # a shorter axis is too short to say that only a part of it is wrong
LARGEST_FACTOR = 1e4  # a larger one is rather that of numbers that are almost 0
MOST_NUMBERS = 100_000  # of an array to which functions are applied
CLOSE = 1e-2  # of the largest number: a smaller difference is nearly right
ROUNDING = 1e-3
HALF_ROUNDING = (5e-5, 1e-2)  # of the largest number: the effect of a few roundings to float16 or bfloat16
FEWEST_TO_ORDER = 20  # numbers that are in the right order by no accident
MOST_UNEVEN = 40  # times the usual error, for the largest one where each number is rounded


def differences(
    exercise: Exercise,
    case: Case,
    index: int,
    name: str,
    actual: Any,
    expected: Any,
    others: Iterable[Finding],
) -> Iterator[Finding]:
    """Describe how result `index` differs from the expected one, the most specific sentence first.

    `others` say that the result is right for another case. That is less specific than a wrong dtype or a
    factor, and more specific than what the course measures or which rows are wrong.
    """
    kind = kind_of(actual)
    assert isinstance(kind, ArrayKind)
    axes = exercise.axes[index] if index < len(exercise.axes) else ()
    if tuple(actual.shape) != tuple(expected.shape):
        yield _shape_mismatch(name, tuple(actual.shape), tuple(expected.shape), axes)
        return
    dtype, expected_dtype = kind.dtype(actual), kind.dtype(expected)
    if dtype != expected_dtype:
        yield Cause.DTYPE.found(name=name, actual=dtype, wanted=expected_dtype)
    numbers, target = kind.as_numbers(actual), kind.as_numbers(expected)
    is_floating = numbers.dtype.kind == "f" and target.dtype.kind in "fiu"
    if is_floating and exercise.is_variable:  # where both have a gap they agree
        gaps = np.isnan(numbers) & np.isnan(target)
        numbers, target = np.where(gaps, 0, numbers), np.where(gaps, 0, target)
    tolerance = exercise.tolerance.float64 if dtype in DOUBLE else exercise.tolerance.float32
    pair = _Pair(name, numbers, target, tolerance, axes, case)
    # Two measurements come early where they say much, else late: the first finding of a kind counts.
    with np.errstate(all="ignore"):
        if is_floating:
            sentences = exercise.describe_array(index, name, numbers, target, case)
            told = [Cause.MEASURED_BY_COURSE.found(measurement=sentence) for sentence in sentences]
            yield from told if np.isnan(numbers).any() else ()
            yield from pair.not_finite()
            yield from pair.transposed()
            yield from pair.narrower_dtype()
            yield from pair.all_equal()
            if not 1 < target.size == max(target.shape):  # in one row a factor says little
                yield from pair.constant_factor()
        yield from others
        if is_floating:
            yield from told
            yield from pair.half_precision()
            yield from pair.one_step_too_many()
            yield from pair.parts_that_differ()
            derived = [
                (each, replace(pair, name=each.name, actual=each.numbers, expected=each.expected,
                               axes=each.axes, relative=each.tolerance))
                for each in exercise.derived_arrays(index, numbers, target, case)
            ]  # fmt: skip
            for each, other in derived:
                yield from other.all_equal()
                yield from other.one_step_too_many()
                yield from other.parts_that_differ()
                yield from other.right_positions()
                if each.is_telling and not other.close(other.actual, other.expected):
                    yield other.largest_difference(Cause.AT)
            yield from pair.rising_function()
            yield from pair.right_positions()
        near = pair.closeness() if is_floating else []
        yield pair.largest_difference(Cause.NUMBERS).followed_by(*near)


def one_step_more(exercise: Exercise, case: Case, name: str, actual: Any, wrong: Any) -> Finding | None:
    """Find one thing that was done to all numbers of a wrong array, which makes it the student's."""
    kind = kind_of(actual)
    if not isinstance(kind, ArrayKind) or kind is not kind_of(wrong) or actual.shape != wrong.shape:
        return None
    numbers, base = kind.as_numbers(actual), kind.as_numbers(wrong)
    if numbers.dtype.kind != "f" or not np.ptp(numbers) or not np.isfinite(base).all():
        return None
    tolerance = exercise.tolerance.float64 if kind.dtype(actual) in DOUBLE else exercise.tolerance.float32
    with np.errstate(all="ignore"):
        steps = _Pair(name, numbers, base, tolerance, (), case).one_step_too_many()
        return next((step for step in steps if step.kind != Cause.FUNCTION_LEFT_OUT.kind), None)


@dataclass(frozen=True)
class _Pair:
    """A wrong array of floats and the expected one, of the same shape; each method looks for one cause."""

    name: str
    actual: Any
    expected: Any
    tolerance: tuple[float, float]
    axes: Sequence[str]
    case: Case
    relative: float = 0.0  # the tolerance in place of `tolerance`, of the largest expected number

    @property
    def limits(self) -> tuple[float, float]:
        """The tolerance, relative and absolute."""
        return (
            (self.relative, self.relative * float(abs(self.expected).max()))
            if self.relative
            else self.tolerance
        )

    def close(self, one: Any, other: Any) -> bool:
        """Return whether two arrays are equal within the tolerance."""
        rtol, atol = self.limits
        return bool(np.allclose(one, other, rtol=rtol, atol=atol))

    def one_step_too_many(self) -> Iterator[Finding]:
        """Find one thing that was done to all numbers, or with all rows."""
        yield from self.constant_factor()
        yield from self.wrong_signs()
        yield from self.other_arrangement()
        yield from self.an_argument()
        yield from self.constant_difference()
        yield from self.function()

    def parts_that_differ(self) -> Iterator[Finding]:
        """Say which positions differ, or what differs from row to row."""
        yield from self.wrong_positions()
        yield from self.factor_of_each_row()
        yield from self.shifted_rows()

    def largest_difference(self, cause: Cause) -> Finding:
        position = _largest_difference(self.actual, self.expected)
        wrong, right = told_apart(self.actual[position], self.expected[position])
        return cause.found(name=self.name, position=list(position), actual=wrong, wanted=right)

    def all_equal(self) -> Iterator[Finding]:
        if self.actual.size > 1 and np.ptp(self.actual) == 0 and np.ptp(self.expected) > 0:
            yield Cause.ALL_EQUAL.found(name=self.name, number=f"{self.actual.flat[0]:.4g}")

    def function(self) -> Iterator[Finding]:
        """Say which function was applied to the right numbers, or left out."""
        if not FEWEST_TO_ORDER <= self.actual.size <= MOST_NUMBERS or not np.isfinite(self.actual).all():
            return
        bases = {"": self.expected}
        for argument, number in self.arguments():
            bases[f", after the {argument} was added"] = self.expected + number
        sums = {
            f"the running sum along {self.axis_name(axis)}": partial(np.cumsum, axis=axis)
            for axis in range(self.actual.ndim)
        }
        for name, function in (FUNCTIONS | sums).items():
            for added, base in bases.items():
                if self.is_function(function, base, self.actual):
                    yield Cause.FUNCTION_APPLIED.found(name=self.name, function=name, added=added)
            if name not in LOSSY and self.is_function(function, self.actual, self.expected):
                yield Cause.FUNCTION_LEFT_OUT.found(name=self.name, function=name)

    def is_function(self, function: Callable[[Any], Any], numbers: Any, result: Any) -> bool:
        """Return whether a function of numbers is a result whose numbers differ."""
        found, spread = function(numbers), np.ptp(result)
        off = abs(found - result).max()
        return bool(off < spread * max(self.relative, ROUNDING) and self.close(found, result))

    def axis_name(self, axis: int) -> str:
        named = axis - self.actual.ndim + len(self.axes)
        return f"“{self.axes[named]}”" if 0 <= named < len(self.axes) else f"axis {axis}"

    def not_finite(self) -> Iterator[Finding]:
        infinite = np.isinf(self.actual) & ~np.isinf(self.expected)
        for what, where in (("NaN", np.isnan(self.actual)), ("infinite", infinite)):
            if where.any():
                position, count = first_position(where), int(where.sum())
                row = f"row {position[-2]}" if len(position) > 1 else f"position {list(position)}"
                numbers = {"count": count, "size": where.size}
                yield Cause.NOT_FINITE.found(name=self.name, what=what, where=row, **numbers)

    def transposed(self) -> Iterator[Finding]:
        actual, expected = self.actual, self.expected
        is_square = actual.ndim >= 2 and actual.shape[-1] == actual.shape[-2]
        same_dtype = actual.dtype == expected.dtype
        if is_square and same_dtype and self.close(np.swapaxes(actual, -1, -2), expected):
            yield Cause.TRANSPOSED.found(name=self.name)

    def narrower_dtype(self) -> Iterator[Finding]:
        """Say that every number is right to the rounding of a narrower dtype, and fits into it."""
        actual, expected, some = self.actual, self.expected, self.expected[self.expected != 0]
        if actual.dtype != expected.dtype or not np.isfinite(actual).all() or not some.size:
            return
        largest, furthest = float(abs(some).max()), float(abs(actual - expected).max())
        for dtype, unit, narrow in NARROWER:
            if unit <= np.finfo(actual.dtype).eps or not np.array_equal(narrow(actual), actual):
                continue
            if np.mean(narrow(some) != some) > SHARE_NOT_HELD and furthest < STEPS_ROUNDED * unit * largest:
                yield Cause.NARROWER_DTYPE.found(name=self.name, dtype=dtype)
                return

    def constant_factor(self) -> Iterator[Finding]:
        """Say by what number other than 1 all numbers are too large or too small, if there is one."""
        actual, expected = self.actual, self.expected
        if not expected.size or not np.isfinite(expected).all() or not np.isfinite(actual).all():
            return
        large = abs(expected) > abs(expected).max() * 1e-2
        if not large.any():
            return
        factor = float(np.median(actual[large] / expected[large]))
        close = np.allclose(actual, factor * expected, rtol=1e-3, atol=1e-5 * max(1.0, abs(factor)))
        if close and 1 / LARGEST_FACTOR < abs(factor) < LARGEST_FACTOR and abs(factor - 1) > 1e-3:
            size = size_behind(factor, self.case)
            yield Cause.FACTOR.found(name=self.name, factor=f"{factor:.4g}", size=size)

    def wrong_signs(self) -> Iterator[Finding]:
        """Say how many numbers are wrong in their sign only."""
        wrong = int((self.actual * self.expected < 0).sum())
        if wrong and self.close(abs(self.actual), abs(self.expected)):
            yield Cause.SIGNS.found(name=self.name, count=wrong, size=self.expected.size)

    def rising_function(self) -> Iterator[Finding]:
        """Say that the numbers are in the right order of size."""
        actual, expected = self.actual.reshape(-1), self.expected.reshape(-1)
        if expected.size < FEWEST_TO_ORDER or not np.isfinite([actual, expected]).all():
            return
        rises = (np.diff(actual[np.argsort(expected)]) >= -self.limits[1]).all()
        if rises and not self.closeness() and np.ptp(actual) > ROUNDING * np.ptp(expected):
            yield Cause.RISING_FUNCTION.found(name=self.name)
        if self.actual.ndim > 1 and self.actual.shape[-1] > SHORTEST_AXIS and not self.closeness():
            order = np.argsort(self.expected, axis=-1, kind="stable")
            steps = np.diff(np.take_along_axis(self.actual, order, -1))
            if (steps >= -self.limits[1]).all() and (steps > 0).mean() > SHARE_NOT_HELD:
                yield Cause.RISING_IN_ROWS.found(name=self.name)

    def half_precision(self) -> Iterator[Finding]:
        """Ask about half precision where most numbers are off by about its rounding, and none by more."""
        off = self.actual.astype(float) - self.expected
        furthest, usual = float(abs(off).max(initial=0.0)), float(abs(off).mean()) if off.size else 0.0
        low, high = (share * float(abs(self.expected).max(initial=0.0)) for share in HALF_ROUNDING)
        is_rounded = (off != 0).mean() > SHARE_NOT_HELD and abs(off.mean()) < usual / 2
        if is_rounded and low < furthest < min(high, MOST_UNEVEN * usual):
            yield Cause.HALF_PRECISION.found(name=self.name).followed_by(*self.closeness())

    def other_arrangement(self) -> Iterator[Finding]:
        """Say that the right rows (or columns) are in another order, or some of them in place of others."""
        for axis, size in enumerate(self.actual.shape):
            if size < SHORTEST_AXIS:
                continue
            both = (self.actual, self.expected)
            rows, right = (np.moveaxis(array, axis, 0).reshape(size, -1) for array in both)
            if right.shape[1] < 2 or not np.isfinite(rows).all() or not np.abs(right).max():
                continue
            factor = float(np.linalg.norm(rows) / np.linalg.norm(right))
            for scale in (1.0, factor) if abs(factor - 1) > ROUNDING else (1.0,):
                nearest = [int(np.argmin(np.abs(scale * right - row).max(axis=1))) for row in rows]
                if nearest != sorted(range(size)) and self.close(rows, scale * right[nearest]):
                    place = next(index for index, other in enumerate(nearest) if index != other)
                    where = {"axis": self.axis_name(axis), "place": place, "other": nearest[place]}
                    besides = Cause.FACTOR.says(
                        name=self.name, factor=f"{scale:.4g}", size=size_behind(scale, self.case)
                    )
                    found = Cause.ARRANGEMENT.found(name=self.name, **where)
                    yield found.followed_by(besides if scale != 1 else "")

    def arguments(self) -> Iterator[tuple[str, Any]]:
        """Yield the arrays of fractions that went in and have as many numbers, in words and in this form."""
        for value in (*self.case.args, *self.case.kwargs.values()):
            kind, batch = kind_of(value), self.actual.shape[:2]
            if not isinstance(kind, ArrayKind) or not kind.is_floating(value):
                continue
            if tuple(value.shape)[:2] == batch and math.prod(value.shape) == self.actual.size:
                words = f"{kind.noun} of shape {tuple(value.shape)}"
                yield words, kind.as_numbers(value).reshape(self.actual.shape)

    def an_argument(self) -> Iterator[Finding]:
        """Say that an argument was returned, or added to the right numbers (or taken off)."""
        for argument, number in self.arguments():
            for cause, wrong in (
                (Cause.AN_ARGUMENT, number),
                (Cause.ARGUMENT_ADDED, self.expected + number),
                (Cause.ARGUMENT_SUBTRACTED, self.expected - number),
            ):
                if self.close(wrong, self.actual):
                    yield cause.found(name=self.name, argument=argument)

    def constant_difference(self) -> Iterator[Finding]:
        """Say that all numbers are too large or too small by the same amount."""
        difference = self.actual.astype(float) - self.expected
        middle = float(np.median(difference))
        spread = float(abs(difference - middle).max(initial=0.0))
        if difference.size > 1 and abs(middle) > ROUNDING and spread < ROUNDING * abs(middle):
            more = "more" if middle > 0 else "less"
            yield Cause.DIFFERENCE.found(name=self.name, amount=f"{abs(middle):.4g}", more=more)
        for axis, size in enumerate(difference.shape):
            off = difference.mean(axis, keepdims=True)
            differs = min(np.ptp(self.expected, axis).max(initial=0.0), abs(off).max()) > ROUNDING
            if size >= SHORTEST_AXIS and differs and self.close(self.expected + off, self.actual):
                yield Cause.SAME_DIFFERENCE.found(name=self.name, axis=self.axis_name(axis))

    def wrong_positions(self) -> Iterator[Finding]:
        """If at most half of the rows (or columns) are wrong, say which."""
        rtol, atol = self.limits
        wrong = ~np.isclose(self.actual, self.expected, rtol=rtol, atol=atol)
        found = []
        for axis, size in enumerate(wrong.shape):
            hit = wrong.any(axis=tuple(other for other in range(wrong.ndim) if other != axis))
            if size >= SHORTEST_AXIS and 0 < hit.sum() <= size / 2:
                found.append((hit.sum() / size, axis, np.flatnonzero(hit)))
        if not found:
            return
        _, axis, positions = min(found, key=lambda entry: entry[:2])
        first = first_position(wrong)
        value, target = told_apart(self.actual[first], self.expected[first])
        where = _positions(positions, wrong.shape[axis], self.axis_name(axis))
        numbers = {"position": list(first), "actual": value, "wanted": target}
        yield Cause.POSITIONS.found(name=self.name, where=where, **numbers)

    def right_positions(self) -> Iterator[Finding]:
        """Say which rows (or columns) alone are right."""
        right = np.isclose(self.actual, self.expected, *self.limits)
        for axis, size in enumerate(right.shape):
            rest = tuple(other for other in range(right.ndim) if other != axis)
            # Zeros, as for a query with nothing to attend to, and a single 1 are right in many wrong answers.
            whole = right.all(axis=rest) & ((abs(self.expected) > self.limits[1]).sum(axis=rest) > 1)
            if size >= SHORTEST_AXIS and whole.any():
                first = int(np.argmin(whole))  # the first that is wrong
                if first and not whole[first:].any():
                    about = {"axis": self.axis_name(axis), "last": first - 1, "first": first}
                    yield Cause.WRONG_FROM.found(name=self.name, **about)
                where = _positions(np.flatnonzero(whole), size, self.axis_name(axis))
                yield Cause.RIGHT_POSITIONS.found(name=self.name, where=where)

    def factor_of_each_row(self) -> Iterator[Finding]:
        """Say that each row (or column) is right up to a factor of its own."""
        actual, expected = self.actual, self.expected
        for axis in {actual.ndim - 1, max(actual.ndim - 2, 0)} if actual.ndim > 1 else ():
            if actual.shape[axis] < SHORTEST_AXIS:
                continue
            if (np.ptp(expected, axis=axis) < ROUNDING * abs(expected).max()).mean() > SHARE_NOT_HELD:
                continue  # equal numbers have such a factor in any case
            products, squares = (actual * expected).sum(axis, keepdims=True), np.square(expected)
            factors = products / squares.sum(axis, keepdims=True)
            if self.close(factors * expected, actual) and (abs(factors - 1) > ROUNDING).any():
                worst = f"{float(factors.reshape(-1)[np.argmax(abs(factors - 1))]):.4g}"
                yield Cause.FACTOR_OF_ROWS.found(name=self.name, axis=self.axis_name(axis), factor=worst)

    def shifted_rows(self) -> Iterator[Finding]:
        """Say that each row is right up to a factor and a shift of its own."""
        if self.actual.ndim < 2 or self.actual.shape[-1] <= SHORTEST_AXIS or self.closeness():
            return
        own, right = (each - each.mean(-1, keepdims=True) for each in (self.actual, self.expected))
        slopes = (own * right).sum(-1, keepdims=True) / np.square(right).sum(-1, keepdims=True)
        if self.close(slopes * right, own):
            yield Cause.SHIFTED_ROWS.found(name=self.name, axis=self.axis_name(self.actual.ndim - 1))

    def closeness(self) -> list[str]:
        """Say that wrong numbers are nearly right; return nothing if they are not."""
        largest = float(abs(self.expected).max(initial=0.0))
        furthest = float(abs(self.actual.astype(float) - self.expected).max(initial=0.0))
        if not largest or not furthest < CLOSE * largest:
            return []
        rtol, atol = self.tolerance
        return [Cause.CLOSE.says(furthest=f"{furthest:.2g}", atol=f"{atol:.0e}", rtol=f"{rtol:.0e}")]


def first_position(where: Any) -> tuple[int, ...]:
    """Return the first position at which a boolean array is true."""
    return tuple(int(axis) for axis in np.argwhere(where)[0])


def first_differing_row(actual: Any, expected: Any) -> tuple[int, ...]:
    """Return the index of the first row that differs from the expected one; of the first row if none does."""
    first = (0,) * max(actual.ndim - 1, 0)
    numeric = actual.dtype.kind in "biufc" and expected.dtype.kind in "biufc"
    if actual.ndim < 2 or actual.shape != expected.shape or not numeric:
        return first
    with np.errstate(all="ignore"):
        differs = ~np.isclose(actual, expected, rtol=1e-4, atol=1e-4, equal_nan=True).all(axis=-1)
    return first_position(differs) if differs.any() else first


def _shape_mismatch(
    name: str, actual: tuple[int, ...], expected: tuple[int, ...], axes: Sequence[str]
) -> Finding:
    named = ", ".join(axes if len(axes) == len(expected) else ("…", *axes))
    noun = "axis" if len(expected) == 1 else "axes"
    is_transposed = len(actual) == len(expected) >= 2 and (*actual[:-2], actual[-1], actual[-2]) == expected
    cause = Cause.SHAPE_TRANSPOSED if is_transposed else Cause.SHAPE
    with_axes = f", with the {noun} ({named})" if axes else ""
    return cause.found(name=name, actual=actual, wanted=expected, axes=with_axes)


def _largest_difference(actual: Any, expected: Any) -> tuple[int, ...]:
    if actual.dtype.kind in "biufc" and expected.dtype.kind in "biufc":
        wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
        distance = np.nan_to_num(abs(actual.astype(wide) - expected.astype(wide)), nan=np.inf)
    else:
        distance = actual != expected
    return tuple(int(axis) for axis in np.unravel_index(int(np.argmax(distance)), distance.shape))


def size_behind(factor: float, case: Case) -> str:
    """Return the end of a sentence on the input size that a factor is made of; empty if there is none."""
    arguments = [*case.args, *case.kwargs.values()]
    if case.build is not None:
        arguments += [*case.build.args, *case.build.kwargs.values()]
    sizes = {size for _, value in owned_values(arguments) if is_array(value) for size in value.shape}
    sizes |= {value for value in arguments if type(value) is int}
    for size in sorted(size for size in sizes if size > 1):
        forms = {f"{size}": size, f"1/{size}": 1 / size, f"√{size}": math.sqrt(size)}
        forms[f"1/√{size}"] = 1 / math.sqrt(size)
        for form, value in forms.items():
            if math.isclose(factor, value, rel_tol=ROUNDING):
                return f", that is {form}, and {size} is a size of what went in"
    return ""


def _to_bfloat16(numbers: Any) -> Any:
    """Round numbers to bfloat16, which NumPy does not have: the upper half of a float32's bits."""
    bits = numbers.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(numbers.dtype)


# Narrower dtypes, the distance from 1 to the next number of each, and how an array is rounded to it.
NARROWER: tuple[tuple[str, float, Callable[[Any], Any]], ...] = (
    ("bfloat16", 2.0**-7, _to_bfloat16),
    ("float16", 2.0**-10, lambda numbers: numbers.astype(np.float16).astype(numbers.dtype)),
    ("float32", 2.0**-23, lambda numbers: numbers.astype(np.float32).astype(numbers.dtype)),
)
SHARE_NOT_HELD = 0.5  # of the expected numbers, that the narrower dtype cannot hold
STEPS_ROUNDED = 4  # what several roundings may add up to


def _positions(positions: Any, size: int, word: str) -> str:
    for parity, first in (("even", 0), ("odd", 1)):
        every = np.arange(first, size, 2)
        if len(every) > 1 and np.array_equal(positions, every):
            return f"the {parity} positions of {word}"
    noun = "position" if len(positions) == 1 else "positions"
    return f"{noun} {listed([str(position) for position in positions])} of {word}"
