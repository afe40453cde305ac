"""The retest: a passing answer is called again in the same process, to find answers that keep state.

The calls come in the opposite order, with changed values of the same shapes (see
`nbjudge.judge.changed_cases`), and without optional arrays. An object is called before that: with shorter
arrays, with the first numbers, and in the opposite mode if it has modes. An answer that remembers something,
by shape, by argument or by call, gives a wrong result then.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from nbjudge.authoring.exercise import Exercise, Tolerance
from nbjudge.calls import Answer, AnswerCaller, Call, answers_of
from nbjudge.judge.changed_cases import changed_values, special_numbers, texts_of_one_word
from nbjudge.judge.compare import changes_values, same_value, unreadable_part
from nbjudge.judge.drawn_group import DrawnGroup, call_groups
from nbjudge.judge.findings import Cause, no_value
from nbjudge.judge.group_result import GroupResult
from nbjudge.judge.verdict import Finding
from nbjudge.probe.respond import BUILDERS
from nbjudge.values.kinds import ArrayKind, change_leaves, is_array, kind_of, owned_values
from nbjudge.values.packing import MadeInKernel

LENGTH_AXIS = -2  # the axis of rows: a shorter array has one row less
# Large results are not right by luck: of a group with more numbers only the smaller cases are retested.
MANY_NUMBERS = 20_000
EQUAL = Tolerance((0.0, 0.0), (0.0, 0.0))
NEAR = Tolerance((0.1, 0.1), (0.1, 0.1))  # a slip in an epsilon, say


@dataclass(frozen=True, eq=False)
class Retest:
    """Further calls after those of a group, and the answers to compare theirs with."""

    result: GroupResult
    calls: list[Call]
    expected: list[Answer]


def retest(
    exercise: Exercise, results: Sequence[GroupResult], call_answer: AnswerCaller
) -> list[GroupResult]:
    """Call the answer again where it passed, and repeat one call where it did not.

    A group that passed and fails its retest has an objection in the result; one whose repeated call gave
    another value is marked as nondeterministic.
    """
    passed = [result for result in reversed(results) if result.passed and result.drawn.expected]
    retests = [retest for result in passed if (retest := Retest(result, *retest_calls(result.drawn))).calls]
    repeated = _call_to_repeat(results)
    answered = call_groups(exercise, [each.calls for each in (*retests, *repeated)], call_answer, False)
    all_passed = all(result.passed for result in results)
    found = {
        each.result: _compare_retest(each, answers, all_passed)
        for each, answers in zip(retests, answered, strict=False)
    }
    for repeat, (answer,) in zip(repeated, answered[len(retests) :], strict=True):
        if answer.status == "value" and not same_value(
            answer.value, repeat.expected[0].value, exercise.tolerance, equal_nan=True
        ):
            found[repeat.result] = replace(repeat.result, is_nondeterministic=True)
    return [found.get(result, result) for result in results]


def retest_calls(drawn: DrawnGroup) -> tuple[list[Call], list[Answer]]:
    """Return the calls of a group's retest and the expected answers, which the group keeps."""
    if drawn.retest is None:
        pairs = list(_calls_and_answers(drawn)) if drawn.expected else []
        drawn.retest = [call for call, _ in pairs], [answer for _, answer in pairs]
    return drawn.retest


def _call_to_repeat(results: Sequence[GroupResult]) -> list[Retest]:
    """Choose one call with a wrong value, with many numbers, because few may be equal by chance.

    A module that draws its own weights comes last: they give other results in a second call.
    """
    candidates = [
        Retest(result, [result.drawn.calls[index]], [result.answers[index]])
        for result in results
        if result.drawn.expected and result.objection is None and not result.exercise.is_variable
        for index in result.wrong_values
        if result.answers[index].status == "value" and unreadable_part(result.answers[index].value) is None
    ]
    candidates = [
        candidate for candidate in candidates if not draws_weights(candidate.calls[0])
    ] or candidates
    sizes = [_count_numbers(candidate.calls[0]) for candidate in candidates]
    allowed = [size for size in sizes if size <= MANY_NUMBERS]
    return [candidates[sizes.index(max(allowed) if allowed else min(sizes))]] if sizes else []


def draws_weights(call: Call) -> bool:
    """Return whether the call is one of a module that draws its own weights."""
    build = call["build"] or {}
    return "state" in build and build["state"] is None


def _calls_and_answers(drawn: DrawnGroup) -> Iterator[tuple[Call, Answer]]:
    pairs = [
        (call, expected)
        for case, call, expected in zip(drawn.cases, drawn.calls, drawn.expected, strict=True)
        if case.refuses is None and case.measure is None and not case.reads_variable
    ]
    for index, (first, expected) in enumerate(_small_enough(_few_repeated(pairs[::-1]))):
        yield from _changed_calls(drawn, first, expected, index)


def _few_repeated(pairs: list[tuple[Call, Answer]]) -> list[tuple[Call, Answer]]:
    """Leave out calls that only repeat a first call, if one with the same expected value repeats its own."""
    chosen, values = list[tuple[Call, Answer]](), list[Any]()
    for call, expected in pairs:
        if call["build"] is None and all(
            isinstance(each, MadeInKernel) for each in (*call["args"], *call["kwargs"].values())
        ):
            if any(same_value(expected.value, other, EQUAL) for other in values):
                continue
            values.append(expected.value)
        chosen.append((call, expected))
    return chosen


def _small_enough(pairs: list[tuple[Call, Answer]]) -> list[tuple[Call, Answer]]:
    """Keep the smallest calls, with at most `MANY_NUMBERS` numbers together, in their order."""
    sizes = [_count_numbers(call) for call, _ in pairs]
    smallest = sorted(range(len(pairs)), key=sizes.__getitem__)
    totals = accumulate(sizes[index] for index in smallest)
    chosen = [index for index, total in zip(smallest, totals, strict=True) if total <= MANY_NUMBERS]
    return [pairs[index] for index in sorted(chosen or smallest[:1])]


def _count_numbers(call: Call) -> int:
    """Count the numbers in the arrays of a call, a layer's weights included."""
    values = owned_values([call["args"], call["kwargs"], call["build"] or {}])
    return sum(math.prod(value.shape) for _, value in values if is_array(value))


def _changed_calls(
    drawn: DrawnGroup, first: Call, expected: Answer, index: int
) -> Iterator[tuple[Call, Answer]]:
    """Change one call in several ways, and keep the changes that the reference has an answer to.

    The calls cover each form (with and without optional arrays) and each mode, but not every pair of the two:
    the pairs differ from case to case.
    """
    plain = first | {"cotangents": None, "before": []}
    fewer = _without_optional_arrays(drawn.reference, plain)
    forms = [plain] if fewer is None else [plain, fewer]
    build = plain["build"]
    before = list[Call]()
    if build is not None:
        least = fewer or plain
        shorter = least | {"args": change_leaves(least["args"], _shorter)}
        before = [{"args": each["args"], "kwargs": each["kwargs"]} for each in (shorter, *reversed(forms))]
    modes = [None] if build is None else BUILDERS[build["builder"]].modes(build)
    for number in range(max(len(forms), len(modes))):
        changed = forms[number % len(forms)] | {"build": modes[(number + index) % len(modes)]}
        chosen = _change_values(drawn, changed | {"before": before}, expected)
        if chosen is None:  # perhaps the reference does not answer each earlier call
            answered = [call for call in before if _reference_answer(drawn.reference, plain | call)]
            if len(answered) < len(before):
                before = answered
                chosen = _change_values(drawn, changed | {"before": before}, expected)
        if chosen is not None:
            yield chosen


def _change_values(drawn: DrawnGroup, call: Call, expected: Answer) -> tuple[Call, Answer] | None:
    """Choose the first change that changes the expected answer, too; otherwise the first that is accepted."""
    texts = list(dict.fromkeys(text for each in drawn.calls for text in texts_of_one_word(_arguments(each))))
    usual = special_numbers(expected.value)
    chosen: tuple[Call, Answer] | None = None
    chosen_is_usual = False
    for args, kwargs in changed_values(_arguments(call), drawn.retest_factor, texts):
        changed = call | {"args": list(args), "kwargs": kwargs}
        answer = _reference_answer(drawn.reference, changed)
        if answer is None:
            continue
        # Other flags may show a NaN that was hidden: right answers differ in what they make of it.
        is_usual = special_numbers(answer.value) <= usual
        if is_usual and not same_value(answer.value, expected.value, EQUAL):
            return changed, answer
        if not chosen_is_usual:
            chosen, chosen_is_usual = (changed, answer), is_usual
    return chosen


def _arguments(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return tuple(call["args"]), call["kwargs"]


def _reference_answer(reference: Callable[..., Any], call: Call) -> Answer | None:
    (answer,) = answers_of(reference, [call])
    return answer if answer.status == "value" and not changes_values(answer) else None


def _without_optional_arrays(reference: Callable[..., Any], call: Call) -> Call | None:
    """Return the same call without arrays for optional parameters; None if there are none."""
    function = getattr(reference, "forward", reference) if inspect.isclass(reference) else reference
    parameters = list(inspect.signature(function).parameters.values())[inspect.isclass(reference) :]
    optional = {
        parameter.name for parameter in parameters if parameter.default is not inspect.Parameter.empty
    }

    def is_left_out(name: str, value: Any) -> bool:
        return name in optional and is_array(value)

    args = list(call["args"])
    while args and len(args) <= len(parameters) and is_left_out(parameters[len(args) - 1].name, args[-1]):
        args.pop()
    kwargs = {name: value for name, value in call["kwargs"].items() if not is_left_out(name, value)}
    if len(args) == len(call["args"]) and len(kwargs) == len(call["kwargs"]):
        return None
    return call | {"args": args, "kwargs": kwargs}


def _shorter(value: Any) -> Any:
    has_rows = is_array(value) and len(value.shape) > 1 and value.shape[LENGTH_AXIS] > 1
    return value[..., : LENGTH_AXIS + 1, :] if has_rows else value


def _compare_retest(retest: Retest, answers: Sequence[Answer], all_passed: bool) -> GroupResult:
    """Return the result with an objection if an answer is wrong; if other groups failed, it may be chance."""
    result, exercise = retest.result, retest.result.exercise
    for call, answer, expected in zip(retest.calls, answers, retest.expected, strict=True):
        answer = answer.without_allowed_changes(expected)
        right = answer.status == "value" and same_value(answer.value, expected.value, exercise.tolerance)
        if answer.status == "value" and answer.changed and not result.changed_cases:
            what = "an object of it was called" if call["before"] else "it was called"
            change = Cause.CHANGES_IN_RETEST.found(name=exercise.name, what=what)
            result = replace(result, change_in_retest=change)
            if exercise.changed_arguments == "all groups":
                return replace(result, objection=change)
        if not right:
            return replace(result, objection=_objection(result, call, answer, expected, all_passed))
    return result


def _objection(
    result: GroupResult, call: Call, answer: Answer, expected: Answer, all_passed: bool
) -> Finding:
    """Say why a later call of an answer that passed its first ones gives something wrong."""
    exercise = result.exercise
    fewest = min(map(_count_arguments, result.drawn.calls))
    if all_passed and _count_arguments(call) < fewest:  # no first call has this form
        stops = answer.status == "raised"
        what = f"stops with {answer.error}" if stops else "gives something else"
        return Cause.WRONG_WITHOUT_OPTIONAL.found(name=exercise.name, what=what)
    if answer.status != "value":
        return Cause.STOPS_IN_RETEST.found(why=no_value(exercise, answer).sentence)
    nearly_right = same_value(answer.value, expected.value, NEAR)  # then it may look like an earlier one
    if all_passed or not nearly_right and _is_earlier_value(exercise, answer, result.answers):
        what = "an object of it is called" if call["before"] else "it is called"
        return Cause.KEEPS_STATE.found(name=exercise.name, what=what)
    return Cause.RIGHT_BY_CHANCE.found(group=result.group.name, name=exercise.name)


def _count_arguments(call: Call) -> int:
    return len(call["args"]) + len(call["kwargs"])


def _is_earlier_value(exercise: Exercise, answer: Answer, earlier: Sequence[Answer]) -> bool:
    value, kind = answer.value, kind_of(answer.value)
    if isinstance(value, bool) or (isinstance(kind, ArrayKind) and kind.dtype(value) == "bool"):
        return False  # of so few possible values nearly every call has an earlier one like it
    values = [each.value for each in earlier if each.status == "value"]
    return any(same_value(value, each, exercise.tolerance) for each in values)
