"""A case group drawn from a seed: its cases, what the reference answers, and the calls of an answer.

It also says whether a group can only pass if the answer computes something. An error for bad arguments, a
returned argument, a constant, the names of some attributes: such answers can be right by chance and prove
nothing. The scoring rule (`nbjudge.judge.scoring`) withholds the points of such a group. All groups of an
exercise are called in one request, because messages take longer than most answers.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, takewhile
from typing import Any

from nbjudge.authoring.cases import Case, why_it_cannot_travel
from nbjudge.authoring.exercise import Exercise, Group, Mistake, merge_watched_calls
from nbjudge.calls import Answer, AnswerCaller, Call, answers_of, calls_for
from nbjudge.errors import CourseError
from nbjudge.judge.compare import changes_values, raises_as_required
from nbjudge.probe.respond import RESULTS, SIDES
from nbjudge.probe.watching import WatchedCalls
from nbjudge.values.kinds import ArrayKind, kind_of, leaves

# A right answer may divide by the smallest normal float32 where a sum is empty: the quotient is still finite.
LARGEST_COTANGENT = 3.0
BROKEN_GROUP = "The cases of the group “{}” of `{}` {} {}: fix it in checks/."
BROKEN_CASE = "Case {} of the group “{}” of `{}` {}: fix it in checks/."


@dataclass(eq=False)
class DrawnGroup:
    """A case group on one seed, with the answers of the reference and, on demand, of the mistakes."""

    group: Group
    reference: Callable[..., Any]
    cases: list[Case]
    calls: list[Call]
    expected: list[Answer]  # empty where no value is compared
    requires_computation: bool  # see `nbjudge.judge.scoring`
    retest_factor: float = 0.5  # see `Exercise`
    # The calls of the retest and the expected answers to them, once `nbjudge.judge.retest` has made them.
    retest: tuple[list[Call], list[Answer]] | None = None
    # By the index of a case, behind the clause that says what is changed in it; see `other_cases`.
    other_answers: dict[int, list[tuple[str, Answer]]] = field(default_factory=dict)
    _mistake_answers: dict[tuple[str, int], Answer] = field(default_factory=dict)

    def reference_answer(self, index: int) -> Answer:
        """Return what the reference answers to call number `index`; where results are random, one of them."""
        if self.expected:
            return self.expected[index]
        (answer,) = answers_of(self.reference, [not_measured(self.calls[index])])
        return answer

    def mistake_answer(self, mistake: Mistake, index: int) -> Answer:
        """Return what a mistake answers to call number `index`."""
        key = (mistake.name, index)
        if key not in self._mistake_answers:
            (answer,) = answers_of(mistake.answer, [not_measured(self.calls[index])])
            self._mistake_answers[key] = (
                answer.without_allowed_changes(self.expected[index]) if self.expected else answer
            )
        return self._mistake_answers[key]


def draw_groups(exercise: Exercise, reference: Callable[..., Any], seed: int) -> list[DrawnGroup]:
    """Draw all case groups of an exercise, see `draw_group`."""
    return [draw_group(exercise, group, reference, seed) for group in exercise.groups]


@lru_cache(maxsize=64)  # several answers are judged on one seed: the reference runs once
def draw_group(exercise: Exercise, group: Group, reference: Callable[..., Any], seed: int) -> DrawnGroup:
    """Draw the cases of a group and run the reference on them; the same object as long as it is cached.

    `seed` is the exercise's, from which the group's own is made. Raises CourseError if the reference cannot
    answer a case, or if a case holds a value that cannot be sent to a kernel.
    """
    draw = exercise.draw(group_seed(seed, exercise.name, group.name))
    cases = group.cases(draw)
    parts = ([case.args, case.kwargs, *([vars(case.build)] if case.build else [])] for case in cases)
    reasons = map(why_it_cannot_travel, parts)
    _refuse_broken_cases(exercise, group, (f"has {reason}" if reason else "" for reason in reasons))
    plain = calls_for(cases, [None] * len(cases))
    cotangents = [
        _cotangents(reference, call, draw) if case.gradients else None
        for case, call in zip(cases, plain, strict=True)
    ]
    calls = calls_for(cases, cotangents)
    compared = not group.fresh and (group.verify is None or any(case.measure for case in cases))
    expected = answers_of(reference, [not_measured(call) for call in calls]) if compared else []
    _refuse_broken_cases(exercise, group, map(_is_not_answered, cases, expected))
    request, reply = {"calls": calls}, [{"value": answer.value} for answer in expected]
    for what, message in (("hold", request), ("are answered with", reply)):
        if reason := why_it_cannot_travel(message):  # as deep and as large as they travel, all together
            raise CourseError(BROKEN_GROUP.format(group.name, exercise.name, what, reason))
    computed = requires_computation(group, cases, expected)
    return DrawnGroup(group, reference, cases, calls, expected, computed, exercise.retest_factor)


def not_measured(call: Call) -> Call:
    """Return the same call without its measurement, which takes time and does not change the value."""
    return call | {"measure": None}


def group_seed(seed: int, exercise: str, group: str) -> int:
    """Return the group's own seed, so that a new group leaves the inputs of the other groups unchanged."""
    digest = hashlib.sha256(f"{seed}/{exercise}/{group}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _cotangents(reference: Callable[..., Any], call: Call, draw: Any) -> list[Any]:
    """Draw random weights for the outputs, so that one backward pass tests all of them."""
    (expected,) = answers_of(reference, [call])
    values = expected.value if isinstance(expected.value, (list, tuple)) else [expected.value]
    kinds = [(kind_of(value), value) for value in values]
    return [
        draw.normal(*value.shape, dtype=value.dtype).clip(-LARGEST_COTANGENT, LARGEST_COTANGENT)
        for kind, value in kinds
        if isinstance(kind, ArrayKind) and kind.differentiates and kind.is_floating(value)
    ]


def _refuse_broken_cases(exercise: Exercise, group: Group, problems: Iterable[str]) -> None:
    """Raise CourseError for the first case with a problem, because every student would lose the points."""
    for number, problem in enumerate(problems, 1):
        if problem:
            raise CourseError(BROKEN_CASE.format(number, group.name, exercise.name, problem))


def _is_not_answered(case: Case, answer: Answer) -> str:
    """Say that the reference fails a case; an empty text if it does not."""
    outcome = f"{answer.error}: {answer.message}" if answer.status == "raised" else f"“{answer.status}”"
    if case.refuses is not None:
        if raises_as_required(case, answer):
            return ""
        return (
            "is to be refused, and the solution does not raise a ValueError with the numbers "
            f"{', '.join(map(str, case.refuses))} (it gives {outcome})"
        )
    if answer.status == "value" and not changes_values(answer):
        reason = why_it_cannot_travel(answer.value)
        return f"is answered by the solution with {reason}" if reason else ""
    if answer.changed:
        return "has its arguments changed by the solution"
    return f"cannot be answered by the solution itself ({outcome})"


LARGEST_GUESS = 20  # whole numbers up to this one can be guessed
LARGEST_CHANCE = 0.01  # that guesses of small numbers and truth values are all right


def requires_computation(group: Group, cases: Sequence[Case], expected: Sequence[Answer]) -> bool:
    """Return whether the expected values of a group must be computed and cannot be guessed."""
    if group.withhold_points or group.fresh:
        return False
    if group.verify is not None and not expected:
        return True
    guessable: list[int] = []
    for case, answer in zip(cases, expected, strict=True):
        if case.refuses is not None or answer.status != "value":
            continue
        arguments = [leaf for _, leaf in leaves([case.args, case.kwargs])]
        returned = returned_by_call(case, answer.value)
        # A dict that holds entries of an argument under other names.
        given = [each for each in (*case.args, *case.kwargs.values()) if isinstance(each, dict)]
        is_renamed = isinstance(returned, dict) and any(not returned.keys() & each.keys() for each in given)
        if is_renamed and len(returned) > 1:
            return True
        for _, leaf in leaves(returned):
            if _is_computed(leaf, arguments):
                return True
            if isinstance(leaf, int):
                guessable.append(leaf)
    # The probability of guessing all values when only their frequencies are known.
    count = len(guessable)
    chance = math.prod((times / count) ** times for times in Counter(guessable).values())
    return bool(guessable) and chance < LARGEST_CHANCE


def returned_by_call(case: Case, value: Any) -> Any:
    """Return what the call itself gave, without the attributes and weights of its object."""
    if case.build is None or case.build.look == ("result",) or not isinstance(value, dict):
        return value
    return {side: each for side, each in value.items() if side in RESULTS or side not in SIDES}


def _is_computed(leaf: Any, arguments: list[Any]) -> bool:
    """Return whether a result is no constant, no (reshaped) argument and no number that can be guessed."""
    kind, plain = kind_of(leaf), [each for each in arguments if isinstance(each, (int, float))]
    if isinstance(kind, ArrayKind):
        numbers = kind.as_numbers(leaf).reshape(-1)
        owned = [(kind_of(argument), argument) for argument in arguments]
        given = [own.as_numbers(each).reshape(-1) for own, each in owned if isinstance(own, ArrayKind)]
        if any(len(each) == len(numbers) and bool((each == numbers).all()) for each in given):
            return False
        if len(numbers) == 1:
            return _is_computed(numbers.item(), arguments)
        return not bool((numbers == numbers[:1]).all())
    if kind is not None:
        return not any(kind is kind_of(argument) and kind.identical(leaf, argument) for argument in arguments)
    if isinstance(leaf, float):
        return not leaf.is_integer() and leaf not in plain
    return type(leaf) is int and abs(leaf) > LARGEST_GUESS and leaf not in plain


MOST_LOST_ALONE = 2  # replies; each may take as long as the answers to a group may


def call_groups(
    exercise: Exercise, groups: Sequence[list[Call]], call_answer: AnswerCaller, watched: bool = True
) -> list[list[Answer]]:
    """Make the calls of all groups in the student's kernel; one list of answers per group.

    Each group may use the full time of a group: groups that had no time left are called again. After one
    answer that timed out or killed the kernel, all later groups get the same answer without a call. So do
    they after a second group whose reply is lost when it is called alone. `watched`: forbidden calls are
    recorded.
    """
    answered: list[list[Answer]] = []
    together, lost_alone = True, 0
    while len(answered) < len(groups):
        batch = groups[len(answered) :] if together else [groups[len(answered)]]
        reply = call_answer(exercise.name, *join_calls(exercise, batch, watched))
        if reply.lost and together:
            together = False  # calling each group alone shows which one lost the reply
            continue
        rest = iter(reply.answers)
        answers = [list(islice(rest, len(calls))) for calls in batch]
        finished = list(takewhile(lambda each: _fatal(each) is None, answers))
        answered += finished
        fatal = None if finished else _fatal(answers[0])
        if fatal is not None:
            answered.append(answers[0])
        lost_alone += reply.lost
        if lost_alone >= MOST_LOST_ALONE:
            fatal = fatal or reply.answers[0]
        if fatal is not None:
            answered += [[fatal] * len(calls) for calls in groups[len(answered) :]]
    return answered


def join_calls(
    exercise: Exercise, groups: Sequence[list[Call]], watched: bool = True
) -> tuple[list[Call], WatchedCalls]:
    """Return the calls of several groups as one list, and what the kernel records while it makes them."""
    calls = [call for group in groups for call in group]
    return calls, merge_watched_calls(
        step.watched_calls() for step in exercise.not_allowed
    ) if watched else {}


def _fatal(answers: list[Answer]) -> Answer | None:
    return next((answer for answer in answers if answer.status in ("timeout", "died")), None)
