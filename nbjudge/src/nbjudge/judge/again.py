"""Whether an answer keeps something from one call to the next: it is asked once more, in the same process.

In the opposite order, so that each call comes after another one than before, with other numbers of the
same shapes, and without the arguments that need not be given. An object is called before that: with less,
with the first numbers, and in the opposite mode where it has modes. Whatever remembers, by shape, by argument
or by call, answers then as if it had been asked something else.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.judge import wording
from nbjudge.judge.batches import ask_all
from nbjudge.judge.compare import same_value
from nbjudge.judge.questions import GroupRun, Question, changes_values
from nbjudge.judge.verdict import Finding
from nbjudge.kernel.replies import Answer, CallAnswer, answers_of
from nbjudge.probe.building import BUILDERS
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of, owned_values

Call = dict[str, Any]
LENGTH_AXIS = -2  # of what has rows: a call with less has one row less
# What is large is not right by luck: of a group with more numbers its smaller cases are asked again.
MANY_NUMBERS = 20_000


@dataclass(frozen=True, eq=False)
class SecondRound:
    """A group's calls once more, and what the reference answers to them."""

    run: GroupRun
    calls: list[Call]
    expected: list[Answer]


def asked_again(exercise: Exercise, runs: Sequence[GroupRun], ask: CallAnswer) -> list[GroupRun]:
    """The same runs; one that was right, and is not when it is asked again, has an objection."""
    agreeing = [run for run in reversed(runs) if run.agrees and run.question.expected]
    rounds = [second for run in agreeing if (second := _second_round(run)).calls]
    repeated = _call_to_repeat(runs)
    answered = ask_all(exercise, [*rounds, *repeated], ask, watched=False)
    all_agree = all(run.agrees for run in runs)
    found = {
        second.run: _retested(exercise, second, answers, all_agree)
        for second, answers in zip(rounds, answered, strict=False)
    }
    for repeat, (answer,) in zip(repeated, answered[len(rounds) :], strict=True):
        if _differs(exercise, answer, repeat.first):
            found[repeat.run] = replace(repeat.run, is_unsteady=True)
    return [found.get(run, run) for run in runs]


@dataclass(frozen=True, eq=False)
class Repeat:
    """One call whose value was wrong, to be made a second time as it was."""

    run: GroupRun
    calls: list[Call]
    first: Answer


def _call_to_repeat(runs: Sequence[GroupRun]) -> list[Repeat]:
    """Of the calls with a wrong value one, with many numbers (one of few may be alike twice); or none."""
    candidates = [
        Repeat(run, [run.question.calls[index]], run.answers[index])
        for run in runs
        if run.question.expected and run.objection is None
        for index in run.wrong_values
        if run.answers[index].status == "value"
    ]
    sizes = [_numbers(each.calls[0]) for each in candidates]
    allowed = [size for size in sizes if size <= MANY_NUMBERS]
    return [candidates[sizes.index(max(allowed) if allowed else min(sizes))]] if sizes else []


def _differs(exercise: Exercise, answer: Answer, first: Answer) -> bool:
    return answer.status == "value" and not same_value(answer.value, first.value, exercise.tolerance, True)


def second_round_calls(asked: Question) -> list[Call]:
    """What a question asks again, in its order."""
    return [call for call, _ in _calls_and_answers(asked)]


def _calls_and_answers(asked: Question) -> Iterator[tuple[Call, Answer]]:
    calls = [
        call
        for case, call in zip(asked.cases, asked.calls, strict=True)
        if case.refuses is None and case.measure is None
    ]
    for index, first in enumerate(_small_enough(list(reversed(calls)))):
        yield from _anew(asked, first, index)


def _small_enough(calls: list[Call]) -> list[Call]:
    """The smallest call, and with it the next ones as far as `MANY_NUMBERS` go; in their order."""
    chosen, numbers = list[int](), 0
    for index in sorted(range(len(calls)), key=lambda index: _numbers(calls[index])):
        numbers += _numbers(calls[index])
        if chosen and numbers > MANY_NUMBERS:
            break
        chosen.append(index)
    return [calls[index] for index in sorted(chosen)]


def _numbers(call: Call) -> int:
    """How many numbers its arrays hold, a layer's weights included."""
    given = [call["args"], call["kwargs"], call["build"] or {}]
    return sum(math.prod(value.shape) for _, value in owned_values(given) if _is_array(value))


def _is_array(value: Any) -> bool:
    return isinstance(kind_of(value), ArrayKind)


def _second_round(run: GroupRun) -> SecondRound:
    return SecondRound(run, *second_round_of(run.question))


def second_round_of(asked: Question) -> tuple[list[Call], list[Answer]]:
    """The calls, and what the reference answers; made once for each question, as that takes its time."""
    if not asked.second_round:
        pairs = list(_calls_and_answers(asked)) if asked.expected else []
        asked.second_round.append(([call for call, _ in pairs], [answer for _, answer in pairs]))
    return asked.second_round[0]


def _anew(asked: Question, first: Call, index: int) -> Iterator[tuple[Call, Answer]]:
    """One call in other words, as far as the reference has an answer to them, and that answer.

    In each form and in each mode, but not in each form in each mode: from case to case they change partners.
    """
    plain = first | {"cotangents": None, "before": []}
    fewer = _without_optional_arrays(asked.reference, plain)
    forms = [plain] if fewer is None else [plain, fewer]
    build, earlier = plain["build"], list[Call]()
    if build is not None:
        least = fewer or plain
        before = [least | {"args": _each(least["args"], _shorter)}, *reversed(forms)]
        earlier = [
            {"args": call["args"], "kwargs": call["kwargs"]}
            for call in before
            if _answer_to(asked.reference, call) is not None
        ]
    modes = [None] if build is None else BUILDERS[build["builder"]].modes(build)
    changes = [partial(_changed, factor=asked.asked_again_times, rolled=rolled) for rolled in (True, False)]
    for number in range(max(len(forms), len(modes))):
        form, mode = forms[number % len(forms)], modes[(number + index) % len(modes)]
        for change in changes:  # the second where the reference does not take rolled whole numbers
            other = {"args": _each(form["args"], change), "kwargs": _each(form["kwargs"], change)}
            call = form | other | {"build": mode, "before": earlier}
            answer = _answer_to(asked.reference, call)
            if answer is not None:
                yield call, answer
                break


def _answer_to(reference: Callable[..., Any], call: Call) -> Answer | None:
    (answer,) = answers_of(reference, [call])
    return answer if answer.status == "value" and not changes_values(answer) else None


def _without_optional_arrays(reference: Callable[..., Any], call: Call) -> Call | None:
    """The same call without the arrays that need not be given; None where all must."""
    function = getattr(reference, "forward", reference) if inspect.isclass(reference) else reference
    parameters = list(inspect.signature(function).parameters.values())[inspect.isclass(reference) :]
    optional = {each.name for each in parameters if each.default is not inspect.Parameter.empty}

    def is_left_out(name: str, value: Any) -> bool:
        return name in optional and _is_array(value)

    args = list(call["args"])
    while args and len(args) <= len(parameters) and is_left_out(parameters[len(args) - 1].name, args[-1]):
        args.pop()
    kwargs = {name: value for name, value in call["kwargs"].items() if not is_left_out(name, value)}
    if len(args) == len(call["args"]) and len(kwargs) == len(call["kwargs"]):
        return None
    return call | {"args": args, "kwargs": kwargs}


def _each(value: Any, change: Callable[[ArrayKind, Any], Any]) -> Any:
    """The same, with `change` made to every array."""
    if isinstance(value, (list, tuple)):
        return type(value)(_each(entry, change) for entry in value)
    if isinstance(value, dict):
        return {key: _each(entry, change) for key, entry in value.items()}
    kind = kind_of(value)
    return change(kind, value) if isinstance(kind, ArrayKind) else value


def _changed(kind: ArrayKind, value: Any, factor: float, rolled: bool) -> Any:
    # Exact, and what holds for the numbers mostly holds for their halves: signs, infinities, what is large.
    if kind.is_floating(value):
        return value * factor
    # Whole numbers change places along the last axis: what is a permutation or in a range stays so.
    is_whole = kind.dtype(value).startswith(("int", "uint"))
    return kind.rolled(value) if rolled and is_whole and len(value.shape) else value


def _shorter(_kind: ArrayKind, value: Any) -> Any:
    return (
        value[..., : LENGTH_AXIS + 1, :] if len(value.shape) > 1 and value.shape[LENGTH_AXIS] > 1 else value
    )


def _retested(
    exercise: Exercise, second: SecondRound, answers: Sequence[Answer], all_agreed: bool
) -> GroupRun:
    """The run with what is said of the answers; where others were wrong at once, it may have been luck."""
    run = second.run
    for call, answer, expected in zip(second.calls, answers, second.expected, strict=True):
        answer, by_object = answer.beside(expected), bool(call["before"])
        if answer.status != "value":
            return replace(
                run, objection=Finding(wording.stops_when_asked_again(exercise, answer, by_object))
            )
        if answer.changed and not run.changes:
            late = Finding(wording.changes_when_asked_again(exercise, by_object))
            run = replace(run, late_change=late)
            if exercise.changed_arguments == "all groups":
                return replace(run, objection=late)
        if same_value(answer.value, expected.value, exercise.tolerance):
            continue
        if all_agreed or _is_an_earlier_one(exercise, answer, run.answers):
            return replace(run, objection=Finding(wording.keeps_something(exercise, by_object)))
        luck = wording.right_by_chance(exercise, run.group.name)
        return replace(run, objection=Finding(luck), by_chance=True)
    return run


def _is_an_earlier_one(exercise: Exercise, answer: Answer, earlier: Sequence[Answer]) -> bool:
    values = [each.value for each in earlier if each.status == "value"]
    return any(same_value(answer.value, value, exercise.tolerance) for value in values)
