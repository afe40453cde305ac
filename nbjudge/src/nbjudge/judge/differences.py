"""Descriptions of a wrong answer: how it differs from the expected one, and the call that shows it.

The most specific difference comes first: wrong shape, dtype, order, factor, unused argument, and so on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer, Call, answers_of, calls_for
from nbjudge.judge import describe
from nbjudge.judge.changed_cases import other_cases
from nbjudge.judge.compare import same_gradient, same_gradients, same_value, unreadable_part
from nbjudge.judge.describe import (
    argument_name,
    argument_names,
    describe_call,
    own_case,
    receiver,
    short,
    usual_cause,
)
from nbjudge.judge.drawn_group import DrawnGroup, not_measured
from nbjudge.judge.findings import (
    Cause,
    changed_arguments,
    expected_result,
    no_value,
    switched,
    wrong_error,
    wrong_gradients,
)
from nbjudge.judge.group_result import GroupResult
from nbjudge.judge.verdict import Finding
from nbjudge.probe.respond import SIDES
from nbjudge.values.kinds import ArrayKind, kind_of
from nbjudge.values.packing import UnreadableValue

PLURAL = ("scores", "weights", "gradients", "parameters")
MOST_SECONDS = 2  # of the processor, for the answers to other cases of one case
MOST_IN_ORDER = 4  # results, of which every order is tried
MOST_ENTRIES = 5  # of a row that is shown
# Causes that say little of a difference, the least last.
VAGUE = [
    cause.kind
    for cause in (
        Cause.RISING_FUNCTION, Cause.RISING_IN_ROWS, Cause.WRONG_FROM, Cause.RIGHT_POSITIONS, Cause.NUMBERS,
    )
]  # fmt: skip
# These may be the trace of something that a closer look can name, too.
LOOKED_INTO = {*VAGUE, Cause.POSITIONS.kind, Cause.FACTOR_OF_ROWS.kind}


def describe_difference(result: GroupResult, number: int) -> Finding:
    """Describe how the answer to case `number` differs from the expected one."""
    return _difference(result, number).followed_by(switched(result.answers[number]))


def _difference(result: GroupResult, number: int) -> Finding:
    exercise, drawn = result.exercise, result.drawn
    case, answer, expected = drawn.cases[number], result.answers[number], _expected(drawn, number)
    if answer.status == "value":  # a group with a verifier comes here only if there is nothing to verify
        expected = drawn.reference_answer(number)
    if case.refuses is not None and answer.status == "raised" and not answer.raised(NotImplementedError):
        return wrong_error(exercise, case, answer)
    if answer.status != "value":
        value = expected.value if expected.status == "value" else None
        wanted = expected_result(exercise, case, answer, value)
        return no_value(exercise, answer).followed_by(wanted)
    if case.refuses is not None:
        return wrong_error(exercise, case, answer)
    if expected.status != "value" or not same_value(answer.value, expected.value, exercise.tolerance):
        return _wrong_value(result, number, answer.value, expected.value)
    if case.gradients and not same_gradients(answer, expected, exercise.tolerance):
        cut = _gradient_that_is_cut(result, number)
        return cut or wrong_gradients(exercise, receiver(drawn.reference, case), answer, expected)
    if answer.changed:
        return changed_arguments(exercise, receiver(drawn.reference, case), answer.changed)
    return Cause.BEHAVES_OTHERWISE.found(name=exercise.name)


def _gradient_that_is_cut(result: GroupResult, number: int) -> Finding | None:
    """Find the result from which no gradient flows: the gradients are right where it has no part in them."""
    drawn, exercise = result.drawn, result.exercise
    case, call, own = drawn.cases[number], drawn.calls[number], result.answers[number].gradients
    weights, right = call.get("cotangents") or [], drawn.expected[number].gradients
    if len(weights) < 2 or not isinstance(own, dict) or not isinstance(right, dict):
        return None
    same = partial(same_gradient, tolerance=exercise.tolerance)
    wrong = [path for path, gradient in right.items() if not same(own.get(path), gradient)]
    for index, name in enumerate(exercise.results[: len(weights)]):
        without = [0 * weight if place == index else weight for place, weight in enumerate(weights)]
        (answer,) = answers_of(drawn.reference, [not_measured(call) | {"cotangents": without}])
        found = answer.gradients
        if wrong and isinstance(found, dict) and same(own.get(wrong[0]), found.get(wrong[0])):
            argument = argument_name(receiver(drawn.reference, case), wrong[0])
            return Cause.GRADIENT_CUT.found(result=name, argument=argument)
    return None


def _expected(drawn: DrawnGroup, number: int) -> Answer:
    return drawn.expected[number] if drawn.expected else Answer("value")


def _wrong_value(result: GroupResult, number: int, actual: Any, expected: Any) -> Finding:
    exercise = result.exercise
    if exercise.is_variable:
        return _wrong_variable(result, number, exercise.results[0], actual, expected)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _wrong_side(result, number, actual, expected)
    several, names = _are_several(exercise, expected), exercise.results
    if several and (not isinstance(actual, (list, tuple)) or len(actual) != len(expected)):
        return _wrong_type(f"`{exercise.name}`", actual, f"({', '.join(names)})")
    for order in permutations(range(len(expected))) if several and len(expected) <= MOST_IN_ORDER else ():
        moved = [expected[place] for place in order]
        if list(order) != sorted(order) and same_value(list(actual), moved, exercise.tolerance):
            wanted, returned = ", ".join(names), ", ".join(names[place] for place in order)
            return Cause.ORDER.found(name=exercise.name, returned=returned, wanted=wanted)
    pairs = list(zip(actual, expected, strict=True)) if several else [(actual, expected)]
    agreeing = [
        name for name, pair in zip(names, pairs, strict=False) if same_value(*pair, exercise.tolerance)
    ]
    wrong = [
        index
        for index in exercise.order_of_computation(len(pairs))  # the result that went wrong first
        if not same_value(*pairs[index], exercise.tolerance)
    ]
    findings = (
        next(
            _measurements(
                result, number, index, names[index] if index < len(names) else "result", *pairs[index]
            )
        )
        for index in wrong
    )
    finding = most_telling(findings) or Cause.DIFFERS.found(name=exercise.name)
    if not agreeing or not wrong:
        return finding
    agree = "agree" if len(agreeing) > 1 or agreeing[0] in PLURAL else "agrees"
    return finding.followed_by(Cause.AGREE.says(names=describe.listed(agreeing), agree=agree))


def most_telling(findings: Iterable[Finding]) -> Finding | None:
    """Return the first finding that says what differs; if there is none, the first one."""
    first = None
    for finding in findings:
        if finding.kind not in VAGUE:
            return finding
        first = first or finding
    return first


def _are_several(exercise: Exercise, value: Any) -> bool:
    """Return whether a value holds an exercise's results one by one: a single one may be a list."""
    return len(exercise.results) > 1 and isinstance(value, (list, tuple))


def _wrong_type(what: str, actual: Any, wanted: str, is_part: bool = False) -> Finding:
    """Say that a result is of another kind, count or length; `is_part`: it is a part of what is returned."""
    if actual is None and not is_part:
        return Cause.NOTHING_RETURNED.found(what=what, wanted=wanted)
    verb, kind = "is" if is_part else "returns", describe.kind(actual)
    return Cause.TYPE.found(what=what, is_=verb, kind=kind, wanted=wanted).followed_by(usual_cause(actual))


def _missing_or_extra(
    actual: dict[Any, Any], expected: dict[Any, Any], verbs: Sequence[str], show: Any
) -> str:
    """Say which keys are missing and which are too many: “lacks `a` and has `b` too many”."""
    missing = [show(key) for key in expected if key not in actual]
    extra = [show(key) for key in actual if key not in expected]
    parts = [f"{verbs[0]} {describe.listed(missing)}"] if missing else []
    parts += [f"{verbs[1]} {describe.listed(extra)} too many"] if extra else []
    return " and ".join(parts)


def _wrong_variable(result: GroupResult, number: int, name: str, actual: Any, expected: Any) -> Finding:
    """Describe how `name`, a variable or an entry of one, differs: the first entry that does."""
    if actual is None or (
        isinstance(actual, UnreadableValue) and actual.kind.partition("|")[0] == "builtins.ellipsis"
    ):
        return Cause.NOT_GIVEN.found(name=name, value="`...`" if actual else "None")
    keys: list[Any] | range | None = None
    if isinstance(actual, dict) and isinstance(expected, dict):
        keys = list(expected)
        if lacks_or_has := _missing_or_extra(actual, expected, ("lacks", "has"), repr):
            return Cause.KEYS.found(name=name, lacks_or_has=lacks_or_has)
    elif isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            return _wrong_type(name, actual, describe.kind(expected), is_part=True)
        keys = range(len(expected))
    if keys is not None:
        tolerance = result.exercise.tolerance
        key = next(key for key in keys if not same_value(actual[key], expected[key], tolerance, True))
        return _wrong_variable(result, number, f"entry {key!r} of {name}", actual[key], expected[key])
    return next(_measurements(result, number, 0, name, actual, expected, is_part=True))


def _wrong_side(
    result: GroupResult, number: int, actual: dict[Any, Any], expected: dict[Any, Any]
) -> Finding:
    """Describe the first entry that differs of a dict, or of several things read from a module."""
    exercise = result.exercise
    for side, right in expected.items():
        entry = actual.get(side)
        if same_value(entry, right, exercise.tolerance):
            continue
        if str(side).startswith("result") or (isinstance(entry, dict) and side not in SIDES):
            return _wrong_value(result, number, entry, right)
        if side in SIDES:
            return _wrong_parts(exercise, side, entry, right)
        if side not in actual:
            alike = next((other for other in actual if str(other) == str(side)), None)
            if alike is None:
                return Cause.KEY_MISSING.found(key=side, name=exercise.name)
            kinds = {"kind": describe.kind(alike), "wanted": describe.kind(side)}
            return Cause.KEY_TYPE.found(key=repr(alike), name=exercise.name, **kinds)
        if entry is None and result.drawn.cases[number].build is not None:  # the side is a method
            return _wrong_type(f"`{side}`", entry, describe.kind(right))
        index = exercise.results.index(side) if side in exercise.results else len(exercise.results)
        return next(_measurements(result, number, index, f"`{side}`", entry, right, is_part=True))
    extra = [f"`{side}`" for side in actual if side not in expected]
    return Cause.KEYS_TOO_MANY.found(name=exercise.name, keys=describe.listed(extra))


def _wrong_parts(exercise: Exercise, side: str, actual: Any, expected: Any) -> Finding:
    """Say which parameters, buffers or attributes of a module have a wrong name, shape or type."""
    about = {"side": "entries of the state" if side == "state" else side, "name": exercise.name}
    if not isinstance(actual, dict) or not isinstance(expected, dict):
        return Cause.PARTS_ARE.found(**about, actual=short(actual), wanted=short(expected))
    if lack_or_have := _missing_or_extra(actual, expected, ("lack", "have"), lambda name: f"`{name}`"):
        return Cause.PARTS_NAMES.found(**about, lack_or_have=lack_or_have)
    for part, wanted in expected.items():
        if short(actual[part]) != short(wanted) or actual[part] is None:
            values = {"actual": short(actual[part]), "wanted": short(wanted)}
            return Cause.PART_DIFFERS.found(**about, part=part, **values)
    return Cause.PARTS_VALUES.found(**about)


def _measurements(
    result: GroupResult, number: int, index: int, name: str, actual: Any, expected: Any, is_part: bool = False
) -> Iterator[Finding]:
    """Describe how result `index` differs; `is_part`: `name` is only a part of what the answer returns."""
    exercise, kind = result.exercise, kind_of(actual)
    if kind is None or kind is not kind_of(expected):
        is_part = is_part or len(exercise.results) > 1
        what = name if is_part else f"`{exercise.name}`"
        both = (actual, expected)
        if all(isinstance(value, (list, tuple)) for value in both):
            if len(actual) != len(expected):
                yield _wrong_type(what, actual, describe.kind(expected), is_part)
            elif any(map(kind_of, expected)) or unreadable_part(actual) is not None:
                pairs = enumerate(zip(actual, expected, strict=True))
                place, pair = next(each for each in pairs if not same_value(*each[1], exercise.tolerance))
                beyond = len(exercise.results)  # whose axes have no names
                yield from _measurements(result, number, beyond, f"entry {place} of {name}", *pair, True)
        elif type(actual) is not type(expected):
            yield _wrong_type(what, actual, describe.kind(expected), is_part)
        plain = all(isinstance(value, float) for value in both)
        one, other = describe.told_apart(*both) if plain else map(short, both)
        yield Cause.VALUE.found(what=what, is_="is" if is_part else "gives", actual=one, wanted=other)
        return
    others = _same_as_other_cases(result, number, actual, index, name)
    if isinstance(kind, ArrayKind):
        # NumPy is imported only if there is an array.
        from nbjudge.judge.array_messages import differences

        yield from differences(exercise, result.drawn.cases[number], index, name, actual, expected, others)
    else:
        yield from others
        for difference in kind.differences(name, actual, expected):
            yield Cause.TABLE.found(difference=difference)


def _same_as_other_cases(
    result: GroupResult, number: int, actual: Any, index: int, name: str
) -> Iterator[Finding]:
    """Name the changes of the case, such as an argument left out, that give the student's result."""
    for clause, value in other_results(result, number, index):
        if same_value(actual, value, result.exercise.tolerance):
            yield Cause.OTHER_CASE.found(name=name, clause=clause)


def other_results(result: GroupResult, number: int, index: int) -> Iterator[tuple[str, Any]]:
    """Result `index` of each changed case, behind the clause that says what is changed."""
    for clause, answer in answers_to_other_cases(result.exercise, result.drawn, number):
        values = result_values(answer.value)
        if index < len(values):
            yield clause, values[index]


def result_values(value: Any) -> Sequence[Any]:
    """Return the results one by one, also of what was read from a module."""
    value = value.get("result") if isinstance(value, dict) else value
    return value if isinstance(value, (list, tuple)) else [value]


def answers_to_other_cases(exercise: Exercise, drawn: DrawnGroup, number: int) -> list[tuple[str, Answer]]:
    """Return what the reference gives where one thing in a case is changed; the group keeps it."""
    if number not in drawn.other_answers:
        found, end = [], time.process_time() + MOST_SECONDS
        for clause, function, call in _other_calls(exercise, drawn, number):
            (answer,) = answers_of(function, [call])
            found += [(clause, answer)] if answer.status == "value" else []
            if time.process_time() > end:
                break
        drawn.other_answers[number] = found
    return drawn.other_answers[number]


def _other_calls(
    exercise: Exercise, drawn: DrawnGroup, number: int
) -> Iterator[tuple[str, Callable[..., Any], Call]]:
    """Yield calls that differ from case `number` in one thing, each behind the clause that says in which."""
    case = replace(drawn.cases[number], gradients=False)
    names = argument_names(receiver(drawn.reference, case))
    others = [*other_cases(case, names), *exercise.other_cases(case)]
    calls = calls_for([other for _, other in others], [None] * len(others))
    # A course's own causes come first: they say more than an argument that would have the same effect.
    pairs = [(clause, answer, drawn.calls[number]) for clause, answer in exercise.causes.items()]
    pairs += [(clause, drawn.reference, call) for (clause, _), call in zip(others, calls, strict=True)]
    for clause, function, call in pairs:
        yield clause, function, not_measured(call) | {"cotangents": None}


def contradicts(result: GroupResult, finding: Finding) -> bool:
    """Return whether what explains another group's result (`Cause.OTHER_CASE`) does not explain this one's.

    Then it explains the other one by chance, as many changes do where few results are possible.
    """
    (name, clause, *_), exercise, drawn = finding.facts, result.exercise, result.drawn
    if name not in exercise.results or not drawn.expected or not result.wrong_values:
        return False
    number, index = result.wrong_values[0], exercise.results.index(name)
    own = result_values(result.answers[number].value)
    if index >= len(own) or _is_result(exercise, index, own[index], drawn.expected[number]):
        return False
    for words, function, call in _other_calls(exercise, drawn, number):
        if words == clause:
            (answer,) = answers_of(function, [call])
            return answer.status == "value" and not _is_result(exercise, index, own[index], answer)
    return False


def _is_result(exercise: Exercise, index: int, actual: Any, answer: Answer) -> bool:
    """Return whether a value is result number `index` of an answer."""
    values = result_values(answer.value)
    return index < len(values) and same_value(actual, values[index], exercise.tolerance)


def describe_evidence(result: GroupResult, number: int) -> str:
    """Describe failing case `number` in one sentence: its arguments, and the student's results."""
    exercise, drawn = result.exercise, result.drawn
    case, answer, expected = drawn.cases[number], result.answers[number], _expected(drawn, number)
    if exercise.is_variable:
        own = _shown(answer.value, expected.value)
        return f"Your {exercise.results[0]}{own}." if own else f"Yours is {short(answer.value)}."
    call = f"Called with {describe_call(own_case(drawn.reference, case))}"
    if case.refuses is not None:
        return f"{call}: no error is raised."
    actual, right = _differing_sides(exercise, answer.value, expected.value), expected.value
    if isinstance(actual, dict) and "result" in actual:
        actual, right = actual["result"], right.get("result") if isinstance(right, dict) else None
    if isinstance(actual, dict) and not actual and len(answer.value) > 0:  # every entry is right
        return f"{call}."
    named, wanted = _results(exercise, actual), dict(_results(exercise, right))
    shown = [f"your {name}{text}" for name, value in named if (text := _shown(value, wanted.get(name)))]
    if isinstance(actual, dict) and isinstance(expected.value, dict) and not shown:
        shown = [f"your {side}: {describe.plain_text(value)}" for side, value in actual.items()]
        if len(shown) > describe.MOST_NAMES:
            shown = [*shown[: describe.MOST_NAMES], f"and {len(shown) - describe.MOST_NAMES} more"]
    return f"{call}: {'; '.join(shown or [f'yours is {short(actual)}'])}."


def _differing_sides(exercise: Exercise, actual: Any, expected: Any) -> Any:
    """Return the entries of a dict of results that differ; any other value unchanged.

    If an expected entry is missing and none differs, return those that are there. Only entries that the
    exercise expects are returned, because an answer may invent any name.
    """
    if not isinstance(actual, dict) or not isinstance(expected, dict):
        return actual
    sides = {side: actual[side] for side in expected if side in actual}
    differ = {
        side: each
        for side, each in sides.items()
        if side in exercise.results or not same_value(each, expected[side], exercise.tolerance)
    }
    return differ if differ or len(sides) == len(expected) else sides


def _results(exercise: Exercise, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(name, value[name]) for name in exercise.results if name in value]
    return list(zip(exercise.results, value if _are_several(exercise, value) else [value], strict=False))


def _shown(actual: Any, expected: Any) -> str:
    """Show a result: a number, or the first row of an array that differs; otherwise an empty text."""
    owner = kind_of(actual)
    if not isinstance(owner, ArrayKind):
        return f": {short(actual)}" if owner is not None or isinstance(actual, float) else ""
    if 0 in actual.shape:
        return ""
    # NumPy is imported only if there is an array.
    from nbjudge.judge.array_messages import first_differing_row

    numbers = owner.as_numbers(actual)
    row = first_differing_row(numbers, owner.as_numbers(expected) if owner is kind_of(expected) else numbers)
    where = f" at {list(row)}" if any(row) else ""
    shown = numbers[row].reshape(-1)
    entries = ", ".join(describe.number(entry) for entry in shown[:MOST_ENTRIES].tolist())
    return f"{where}: [{entries}{', …' if shown.size > MOST_ENTRIES else ''}]"
