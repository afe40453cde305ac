"""Comparison of values, gradients and answers: shape, dtype and numbers within the tolerance."""

from __future__ import annotations

import math
import re
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise, Tolerance
from nbjudge.calls import Answer
from nbjudge.values.kinds import kind_of, leaves
from nbjudge.values.packing import UnreadableValue

COMPARED_AS_THEY_ARE = (bool, int, str, bytes, set, frozenset)
MOST_NUMBERS = 10  # different ones in the message of a required ValueError


def same_value(actual: Any, expected: Any, tolerance: Tolerance, equal_nan: bool = False) -> bool:
    """Return whether two values have the same kind and are equal within the tolerance of that kind.

    A list equals a tuple with the same entries. Numbers in sets and keys have no tolerance. NaN equals NaN
    only with `equal_nan`.
    """
    kind = kind_of(actual)
    if kind is not None or kind_of(expected) is not None:
        return (
            kind is not None
            and kind is kind_of(expected)
            and kind.same(actual, expected, tolerance, equal_nan)
        )
    if isinstance(actual, (list, tuple)):
        return (
            isinstance(expected, (list, tuple))
            and len(actual) == len(expected)
            and all(same_value(a, b, tolerance, equal_nan) for a, b in zip(actual, expected, strict=True))
        )
    if isinstance(actual, dict):
        return (
            isinstance(expected, dict)
            and actual.keys() == expected.keys()
            and all(same_value(actual[key], expected[key], tolerance, equal_nan) for key in actual)
        )
    if isinstance(actual, complex) and isinstance(expected, complex):
        parts = ((actual.real, expected.real), (actual.imag, expected.imag))
        return all(same_value(*part, tolerance, equal_nan) for part in parts)
    if isinstance(actual, float) and isinstance(expected, float):  # NumPy's float is one, too
        rtol, atol = tolerance.float32
        both_nan = equal_nan and math.isnan(actual) and math.isnan(expected)
        return both_nan or math.isclose(actual, expected, rel_tol=rtol, abs_tol=atol)
    if type(actual) is type(expected) and (actual is None or isinstance(actual, COMPARED_AS_THEY_ARE)):
        return bool(actual == expected)
    return False  # objects that could not be read are not the same as anything


def unreadable_part(value: Any) -> UnreadableValue | None:
    """Return the first part of a result that could not be read; None if there is none.

    Such parts are never the same as anything, not even as themselves.
    """
    return next((leaf for _, leaf in leaves(value) if isinstance(leaf, UnreadableValue)), None)


def same_gradients(actual: Answer, expected: Answer, tolerance: Tolerance) -> bool:
    """Return whether two answers have the same gradient for every argument; None is the same as zeros."""
    one, other = actual.gradients, expected.gradients
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one is other or (isinstance(one, str) and isinstance(other, str))
    same_names = one.keys() == other.keys()
    return same_names and all(same_gradient(one[name], other[name], tolerance) for name in one)


def same_gradient(actual: Any, expected: Any, tolerance: Tolerance) -> bool:
    """Return whether two gradients of one argument are the same; None is the same as zeros."""
    if actual is None or expected is None:
        gradient = actual if expected is None else expected
        return gradient is None or not bool(gradient.any())
    # A sum over many outputs gathers rounding that no single output shows.
    loose = Tolerance(*((10 * rtol, 10 * atol) for rtol, atol in (tolerance.float32, tolerance.float64)))
    return same_value(actual, expected, loose, equal_nan=True)


def same_answer(actual: Answer, expected: Answer, tolerance: Tolerance) -> bool:
    """Return whether two answers behave alike: the same value or type of error, and the same gradients."""
    if actual.status != expected.status:
        return False
    if actual.status == "raised":
        return actual.error == expected.error
    return same_value(actual.value, expected.value, tolerance, equal_nan=True) and same_gradients(
        actual, expected, tolerance
    )


def is_right(exercise: Exercise, case: Case, answer: Answer, expected: Answer) -> bool:
    """Return whether an answer to one case has the expected values and leaves its arguments unchanged."""
    return has_expected_values(exercise, case, answer, expected) and not changes_arguments(case, answer)


def has_expected_values(exercise: Exercise, case: Case, answer: Answer, expected: Answer) -> bool:
    """Return whether an answer to one case raises, returns and differentiates as expected."""
    if case.refuses is not None:
        return raises_as_required(case, answer)
    equal_nan = exercise.is_variable  # data have gaps, and inputs that are drawn have none
    if answer.status != "value" or not same_value(
        answer.value, expected.value, exercise.tolerance, equal_nan
    ):
        return False
    return not case.gradients or same_gradients(answer, expected, exercise.tolerance)


def changes_arguments(case: Case, answer: Answer) -> bool:
    """Return whether an answer changes arguments; one that must raise an error may."""
    return case.refuses is None and answer.status == "value" and bool(answer.changed)


def changes_values(answer: Answer) -> bool:
    """Return whether an answer changes arrays or lists among its arguments; objects may be changed."""
    return any("." not in path for path in answer.changed)


def raises_as_required(case: Case, answer: Answer) -> bool:
    """Return whether an answer is a ValueError whose message holds the numbers that the case requires."""
    alternatives = [case.refuses or (), *([case.or_naming] if case.or_naming else [])]
    return (
        answer.raised(ValueError)
        and any(
            all(re.search(rf"(?<!\d){number}(?!\d)", answer.message) for number in numbers)
            for numbers in alternatives
        )
        # A message with every number names none: two whole shapes are the most that it may hold.
        and len(set(re.findall(r"\d+", answer.message))) <= MOST_NUMBERS
    )
