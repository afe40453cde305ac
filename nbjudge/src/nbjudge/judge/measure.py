"""What can be measured of a wrong answer that no named mistake explains, most specific first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from nbjudge.authoring.case import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.judge import wording
from nbjudge.judge.arguments import argument_names, own_case, receiver
from nbjudge.judge.compare import same_gradients, same_value
from nbjudge.kernel.replies import Answer, answers_of, calls_for
from nbjudge.probe.building import SIDES
from nbjudge.values import describe
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of
from nbjudge.values.packing import Unreadable


def measure(
    exercise: Exercise, reference: Callable[..., Any], case: Case, answer: Answer, expected: Answer
) -> str:
    """One sentence on how `answer` misses `expected`."""
    if case.refuses is not None and answer.status == "raised" and answer.error != "NotImplementedError":
        return wording.refuses_badly(exercise, case, answer)
    if answer.status != "value":
        wanted = expected.value if expected.status == "value" else None
        return wording.no_value(exercise, answer) + wording.asked_for(exercise, case, answer, wanted)
    if case.refuses is not None:
        return wording.should_refuse(exercise, case)
    if expected.status != "value" or not same_value(answer.value, expected.value, exercise.tolerance):
        return _wrong_value(exercise, reference, case, answer.value, expected.value)
    if case.gradients and not same_gradients(answer, expected, exercise.tolerance):
        return wording.wrong_gradients(exercise, receiver(reference, case), answer, expected)
    if answer.changed:
        return wording.changed_arguments(exercise, receiver(reference, case), answer.changed)
    return f"`{exercise.name}` does not behave as the exercise asks."


def evidence_of(
    exercise: Exercise, reference: Callable[..., Any], case: Case, answer: Answer, expected: Answer
) -> str:
    """The student's own numbers in one failing case, short enough to read."""
    yours, right = _looked_at(exercise, answer.value, expected.value), expected.value
    if isinstance(yours, dict) and "result" in yours:
        yours, right = yours["result"], right.get("result") if isinstance(right, dict) else None
    asked = f"Asked with {wording.describe_call(own_case(reference, case))}"
    named, right = _results(exercise, yours), dict(_results(exercise, right))
    shown = [f"your {name}{text}" for name, value in named if (text := _shown(value, right.get(name)))]
    if isinstance(yours, dict) and isinstance(expected.value, dict) and not shown:
        shown = [f"your {side}: {describe.short(value)}" for side, value in yours.items()]
    return f"{asked}: {'; '.join(shown or [f'yours is {describe.short(yours)}'])}."


def _looked_at(exercise: Exercise, value: Any, right: Any) -> Any:
    """Of what was looked at from several sides, those that differ; anything else as it is.

    Sides are those that were asked for: names that an answer makes up are no sentence of the judge's.
    """
    if not isinstance(value, dict) or not isinstance(right, dict):
        return value
    sides = {side: value[side] for side in right if side in value}
    differ = {
        side: each
        for side, each in sides.items()
        if side in exercise.results or not same_value(each, right[side], exercise.tolerance)
    }
    return differ or sides


def _results(exercise: Exercise, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(name, value[name]) for name in exercise.results if name in value]
    return list(zip(exercise.results, value if isinstance(value, (list, tuple)) else [value], strict=False))


def _shown(value: Any, right: Any) -> str:
    """A result as evidence shows it: a number, or the first row of an array that differs; else empty."""
    owner = kind_of(value)
    if not isinstance(owner, ArrayKind):
        return f": {describe.short(value)}" if owner is not None or isinstance(value, float) else ""
    if 0 in value.shape:
        return ""
    # NumPy is asked for where an array is met, and not before.
    from nbjudge.judge.array_differences import row_that_differs

    numbers = owner.as_numbers(value)
    row = row_that_differs(numbers, owner.as_numbers(right) if owner is kind_of(right) else numbers)
    where = f" at {list(row)}" if any(row) else ""
    return f"{where}: {_beginning(numbers[row])}"


def _beginning(row: Any, most: int = 5) -> str:
    entries = ", ".join(describe.number(entry) for entry in row.reshape(-1)[:most].tolist())
    return f"[{entries}{', …' if row.size > most else ''}]"


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
    for index in exercise.order_of_making(len(pairs)):  # what went wrong first is named
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
    return f"`{exercise.name}` gives {describe.listed(extra)} besides what the exercise asks for."


def _measurements(
    exercise: Exercise,
    reference: Callable[..., Any],
    case: Case,
    index: int,
    name: str,
    mine: Any,
    right: Any,
) -> Iterator[str]:
    kind = kind_of(mine)
    if kind is None or kind is not kind_of(right):
        if isinstance(mine, Unreadable) or type(mine) is not type(right):
            several = len(exercise.results) > 1
            yield wording.wrong_kind(name if several else f"`{exercise.name}`", mine, right, several)
        both = (mine, right)
        if all(isinstance(value, (list, tuple)) for value in both) and any(map(kind_of, right)):
            yield _wrong_entry(exercise, reference, case, name, mine, right)
        plain = all(isinstance(value, float) for value in both)
        yours, other = describe.told_apart(*both) if plain else map(describe.short, both)
        yield f"`{exercise.name}` gives {yours}, and {other} is right."
    elif isinstance(kind, ArrayKind):
        # NumPy is asked for where an array is met, and not before.
        from nbjudge.judge.array_differences import differences, other_numbers, patterns

        yield from differences(exercise, case, kind, index, name, mine, right)
        yield from _argument_measurements(exercise, reference, case, mine, index, name)
        yield from patterns(exercise, kind, index, name, mine, right)
        yield other_numbers(exercise, kind, name, mine, right)
    else:
        yield from _argument_measurements(exercise, reference, case, mine, index, name)
        yield from kind.differences(name, mine, right)


def _wrong_entry(
    exercise: Exercise, reference: Callable[..., Any], case: Case, name: str, mine: Any, right: Any
) -> str:
    """What is wrong with a result that holds arrays itself: the first of them that is."""
    if len(mine) != len(right):
        return wording.wrong_length(name, mine, right)
    number = next(
        number
        for number, each in enumerate(zip(mine, right, strict=True))
        if not same_value(*each, exercise.tolerance)
    )
    entry, beyond = f"entry {number} of {name}", len(exercise.results)  # whose axes have no names
    return next(_measurements(exercise, reference, case, beyond, entry, mine[number], right[number]))


def _argument_measurements(
    exercise: Exercise, reference: Callable[..., Any], case: Case, mine: Any, index: int, name: str
) -> Iterator[str]:
    """Does the answer equal the right one for fewer arguments? Then the argument is not used."""
    names = argument_names(receiver(reference, case))
    for position in range(len(case.args) - 1, 0, -1):
        shorter = replace(case, args=case.args[:position], kwargs={}, gradients=False)
        if _gives(reference, shorter, index, mine, exercise):
            yield f"{name} is the same as if `{names[position]}` had not been given: it is not used."
    for keyword in case.kwargs:
        rest = {key: value for key, value in case.kwargs.items() if key != keyword}
        if _gives(reference, replace(case, kwargs=rest, gradients=False), index, mine, exercise):
            yield f"{name} is the same as if `{keyword}` had not been given: it is not used."


def _gives(reference: Callable[..., Any], case: Case, index: int, mine: Any, exercise: Exercise) -> bool:
    (answer,) = answers_of(reference, calls_for([case], [None]))
    values = answer.value if isinstance(answer.value, (list, tuple)) else [answer.value]
    if answer.status != "value" or index >= len(values):
        return False
    return same_value(mine, values[index], exercise.tolerance)
