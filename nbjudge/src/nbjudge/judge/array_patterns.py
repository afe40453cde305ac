"""What wrong numbers have in common with the right ones: a part that agrees, a factor, a difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nbjudge.authoring.case import Case
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.describe import listed, told_apart
from nbjudge.values.kinds import kind_of, owned_values

SHORTEST_AXIS = 3  # along which it means anything that a part agrees
CLOSE = 1e-2  # of the largest number: from here on a formula is nearly right
ROUNDING = 1e-3
HALF_ROUNDING = (1e-4, 2e-3)  # of the largest number: what a few roundings to float16 make of a difference


def partly(
    name: str, mine: Any, right: Any, tolerance: tuple[float, float], axes: Sequence[str]
) -> Iterator[str]:
    """Where only some rows or columns are wrong: which."""
    rtol, atol = tolerance
    wrong = ~np.isclose(mine, right, rtol=rtol, atol=atol)
    found = []
    for axis, size in enumerate(wrong.shape):
        hit = wrong.any(axis=tuple(other for other in range(wrong.ndim) if other != axis))
        if size >= SHORTEST_AXIS and 0 < hit.sum() <= size / 2:
            found.append((hit.sum() / size, axis, np.flatnonzero(hit)))
    if not found:
        return
    _, axis, places = min(found, key=lambda each: each[:2])
    first = tuple(int(number) for number in np.argwhere(wrong)[0])
    yours, other = told_apart(mine[first], right[first])
    where = _places(places, wrong.shape[axis], _axis_name(axis, wrong.ndim, axes))
    yield f"{name} agrees except at {where}: at {list(first)} yours is {yours}, and {other} is right."


def constant_difference(name: str, mine: Any, right: Any) -> Iterator[str]:
    difference = mine.astype(float) - right
    middle = float(np.median(difference))
    spread = float(abs(difference - middle).max(initial=0.0))
    if difference.size > 1 and abs(middle) > ROUNDING and spread < ROUNDING * abs(middle):
        more = "more" if middle > 0 else "less"
        yield f"Every number in {name} is {abs(middle):.4g} {more} than it should be."


def origin(factor: float, case: Case) -> str:
    """Which size of the inputs a factor is made of, as the end of a sentence; empty where none is."""
    for size in sorted(_sizes(case)):
        forms = {f"{size}": size, f"1/{size}": 1 / size, f"√{size}": math.sqrt(size)}
        forms[f"1/√{size}"] = 1 / math.sqrt(size)
        for said, value in forms.items():
            if math.isclose(factor, value, rel_tol=ROUNDING):
                return f", that is {said}, and {size} is a size of what went in"
    return ""


def narrower_dtype(name: str, mine: Any, right: Any) -> Iterator[str]:
    """That every number is one that a narrower dtype can hold, and right to that dtype's rounding.

    Parameters
    ----------
    name
        What the array is called in the sentence.
    mine, right
        Arrays of one shape, both floating; `right` is the expected one.
    """
    if mine.shape != right.shape or mine.dtype != right.dtype or not np.isfinite(mine).all():
        return
    some = right[right != 0]
    for dtype, unit, narrow in NARROWER:
        if not some.size or unit <= np.finfo(mine.dtype).eps or not np.array_equal(narrow(mine), mine):
            continue
        largest, furthest = float(abs(some).max()), float(abs(mine - right).max())
        if np.mean(narrow(some) != some) > SHARE_NOT_HELD and furthest < STEPS_ROUNDED * unit * largest:
            yield (
                f"Every number in {name} is right to the rounding of {dtype}, and one that {dtype} can hold: "
                f"something is computed in {dtype}. Keep the dtype of what goes in."
            )
            return


def _to_bfloat16(numbers: Any) -> Any:
    """Numbers rounded to bfloat16, which NumPy does not have: the upper half of a float32's bits."""
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


def closeness(mine: Any, right: Any, tolerance: tuple[float, float]) -> str:
    """A sentence on numbers that are nearly right; empty where they are not."""
    largest = float(abs(right).max(initial=0.0))
    furthest = float(abs(mine.astype(float) - right).max(initial=0.0))
    if not largest or not furthest < CLOSE * largest:
        return ""
    rtol, atol = tolerance
    size = HALF_ROUNDING[0] < furthest / largest < HALF_ROUNDING[1]
    half = " That is the size of float16's rounding: is something computed in half precision?" if size else ""
    return (
        f" They come close: the furthest differ by {furthest:.2g}, and {atol:.0e} and {rtol:.0e} of a number "
        f"are accepted.{half}"
    )


def _places(places: Any, size: int, word: str) -> str:
    for said, first in (("even", 0), ("odd", 1)):
        every = np.arange(first, size, 2)
        if len(every) > 1 and np.array_equal(places, every):
            return f"the {said} places of {word}"
    return f"{'place' if len(places) == 1 else 'places'} {listed([str(place) for place in places])} of {word}"


def _axis_name(axis: int, count: int, axes: Sequence[str]) -> str:
    named = axis - count + len(axes)
    return f"“{axes[named]}”" if 0 <= named < len(axes) else f"axis {axis}"


def _sizes(case: Case) -> set[int]:
    """The lengths of all axes of what goes in, and the whole numbers among it."""
    given = [*case.args, *case.kwargs.values()]
    if case.build is not None:
        given += [*case.build.args, *case.build.kwargs.values()]
    arrays = [value for _, value in owned_values(given) if isinstance(kind_of(value), ArrayKind)]
    plain = {value for value in given if type(value) is int}
    return {size for size in {size for value in arrays for size in value.shape} | plain if size > 1}
