"""What wrong numbers have in common with the right ones: a part that agrees, a factor, a difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nbjudge.authoring.case import Case
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.describe import listed, told_apart
from nbjudge.values.kinds import kind_of, owned_values

SHORTEST_AXIS = 3  # along which it means anything that a part agrees
CLOSE = 1e-2  # of the largest number: from here on a formula is nearly right
ROUNDING = 1e-3


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


def closeness(mine: Any, right: Any, tolerance: tuple[float, float]) -> str:
    """A sentence on numbers that are nearly right; empty where they are not."""
    largest = float(abs(right).max(initial=0.0))
    furthest = float(abs(mine.astype(float) - right).max(initial=0.0))
    if not largest or not furthest < CLOSE * largest:
        return ""
    rtol, atol = tolerance
    return (
        f" They come close: the furthest differ by {furthest:.2g}, and {atol:.0e} and {rtol:.0e} of a number "
        "are accepted."
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
