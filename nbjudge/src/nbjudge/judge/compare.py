"""When two values count as the same: the course's tolerances, applied to values of every kind."""

from __future__ import annotations

import math
from typing import Any

from nbjudge.authoring.exercise import Tolerance
from nbjudge.kernel.replies import Answer
from nbjudge.values.kinds import kind_of


def same_value(value: Any, other: Any, tolerance: Tolerance, equal_nan: bool = False) -> bool:
    """Equal in kind, and for its kind within the tolerance; a pair may be a tuple or a list."""
    kind = kind_of(value)
    if kind is not None or kind_of(other) is not None:
        return kind is not None and kind is kind_of(other) and kind.same(value, other, tolerance, equal_nan)
    if isinstance(value, (list, tuple)):
        return (
            isinstance(other, (list, tuple))
            and len(value) == len(other)
            and all(same_value(a, b, tolerance, equal_nan) for a, b in zip(value, other, strict=True))
        )
    if isinstance(value, dict):
        return (
            isinstance(other, dict)
            and value.keys() == other.keys()
            and all(same_value(value[key], other[key], tolerance, equal_nan) for key in value)
        )
    if isinstance(value, float) and isinstance(other, float):  # NumPy's float is one, too
        rtol, atol = tolerance.float32
        both_nan = equal_nan and math.isnan(value) and math.isnan(other)
        return both_nan or math.isclose(value, other, rel_tol=rtol, abs_tol=atol)
    if type(value) is type(other) and (value is None or isinstance(value, (bool, int, str))):
        return bool(value == other)
    return False  # objects that could not be read are not the same as anything


def same_gradients(answer: Answer, other: Answer, tolerance: Tolerance) -> bool:
    """The same gradient for every argument; none at all is the same as zeros everywhere."""
    mine, theirs = answer.gradients, other.gradients
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        return mine is theirs or (isinstance(mine, str) and isinstance(theirs, str))
    return mine.keys() == theirs.keys() and all(
        same_gradient(mine[name], theirs[name], tolerance) for name in mine
    )


def same_gradient(gradient: Any, other: Any, tolerance: Tolerance) -> bool:
    """The same gradient of one argument; none at all is the same as zeros everywhere."""
    if gradient is None or other is None:
        flowing = gradient if other is None else other
        return flowing is None or not bool(flowing.any())
    # A sum over many outputs gathers rounding that no single output shows.
    loose = Tolerance(*((10 * rtol, 10 * atol) for rtol, atol in (tolerance.float32, tolerance.float64)))
    return same_value(gradient, other, loose, equal_nan=True)


def same_answer(answer: Answer, other: Answer, tolerance: Tolerance) -> bool:
    """Whether two answers behave alike: value or kind of exception, and gradients."""
    if answer.status != other.status:
        return False
    if answer.status == "raised":
        return answer.error == other.error
    return same_value(answer.value, other.value, tolerance, equal_nan=True) and same_gradients(
        answer, other, tolerance
    )
