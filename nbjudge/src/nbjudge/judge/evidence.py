"""Evidence for a finding: the call, and the student's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.judge import messages
from nbjudge.judge.argument_names import own_case
from nbjudge.judge.compare import same_value
from nbjudge.kernel.replies import Answer
from nbjudge.values import describe
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of


def describe_evidence(
    exercise: Exercise, reference: Callable[..., Any], case: Case, answer: Answer, expected: Answer
) -> str:
    """Describe a failing case in one sentence: its arguments, and the student's results."""
    actual, right = _differing_sides(exercise, answer.value, expected.value), expected.value
    if isinstance(actual, dict) and "result" in actual:
        actual, right = actual["result"], right.get("result") if isinstance(right, dict) else None
    call = f"Called with {messages.describe_call(own_case(reference, case))}"
    named, wanted = _results(exercise, actual), dict(_results(exercise, right))
    shown = [f"your {name}{text}" for name, value in named if (text := _shown(value, wanted.get(name)))]
    if isinstance(actual, dict) and isinstance(expected.value, dict) and not shown:
        shown = [f"your {side}: {describe.short(value)}" for side, value in actual.items()]
    return f"{call}: {'; '.join(shown or [f'yours is {describe.short(actual)}'])}."


def _differing_sides(exercise: Exercise, actual: Any, expected: Any) -> Any:
    """Return the entries of a dict of results that differ; any other value unchanged.

    Only entries that the exercise expects are returned, because an answer may invent any name.
    """
    if not isinstance(actual, dict) or not isinstance(expected, dict):
        return actual
    sides = {side: actual[side] for side in expected if side in actual}
    differ = {
        side: each
        for side, each in sides.items()
        if side in exercise.results or not same_value(each, expected[side], exercise.tolerance)
    }
    return differ or sides


def _results(exercise: Exercise, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(name, value[name]) for name in exercise.results if name in value]
    return list(zip(exercise.results, value if isinstance(value, (list, tuple)) else [value], strict=False))


def _shown(actual: Any, expected: Any) -> str:
    """Show a result: a number, or the first row of an array that differs; otherwise an empty text."""
    owner = kind_of(actual)
    if not isinstance(owner, ArrayKind):
        return f": {describe.short(actual)}" if owner is not None or isinstance(actual, float) else ""
    if 0 in actual.shape:
        return ""
    # NumPy is imported only if there is an array.
    from nbjudge.judge.array_messages import first_differing_row

    numbers = owner.as_numbers(actual)
    row = first_differing_row(numbers, owner.as_numbers(expected) if owner is kind_of(expected) else numbers)
    where = f" at {list(row)}" if any(row) else ""
    return f"{where}: {_beginning(numbers[row])}"


def _beginning(row: Any, limit: int = 5) -> str:
    entries = ", ".join(describe.number(entry) for entry in row.reshape(-1)[:limit].tolist())
    return f"[{entries}{', …' if row.size > limit else ''}]"
