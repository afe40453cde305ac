"""A closer look at answers whose differences say little: fitted numbers, and two wrong steps at once.

It takes longer than a comparison, so it is taken on one case, and only where nothing else names the cause.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise, FittedCase, WrongStep, with_steps
from nbjudge.calls import Answer, answers_of, calls_for
from nbjudge.judge.compare import same_value
from nbjudge.judge.describe import argument_names, receiver
from nbjudge.judge.differences import (
    LOOKED_INTO,
    describe_difference,
    describe_evidence,
    other_results,
    result_values,
)
from nbjudge.judge.drawn_group import not_measured
from nbjudge.judge.findings import Cause
from nbjudge.judge.group_result import GroupResult
from nbjudge.judge.verdict import Finding
from nbjudge.values.kinds import ArrayKind, kind_of, leaves

MOST_SECONDS = 3  # of the processor, for pairs of steps
MOST_CASES = 3  # that are compared once more
FEWEST_NUMBERS, SHORTEST_AXIS = 20, 3  # of results that other steps give by no accident
FIT_WIDTH, FIT_PLACES, FIT_STEPS = math.log(32), 24, 38  # of the logarithm of a number that is fitted
GOLDEN, FIT_LEAST = (5**0.5 - 1) / 2, 1e-3
CLAIMS = (" right", " agree", " correct")  # of a mistake's sentence: they hold if it is the only one


def is_small(value: Any) -> bool:
    """Return whether a result has so few numbers, or rows, that many mistakes look alike in it."""
    arrays = [leaf for _, leaf in leaves(result_values(value)) if isinstance(kind_of(leaf), ArrayKind)]
    return any(min(array.shape, default=SHORTEST_AXIS) < SHORTEST_AXIS for array in arrays) or (
        bool(arrays) and max(math.prod(array.shape) for array in arrays) < FEWEST_NUMBERS
    )


def look_closer(exercise: Exercise, failing: Sequence[GroupResult], in_other_cases: bool) -> Finding | None:
    """Find what explains wrong results, in the smallest cases in which that can be told.

    `in_other_cases`: whether a difference that says more in another case will do as well.
    """
    cases = sorted(
        (_size(result.drawn.calls[number]), place, number)
        for place, result in enumerate(failing)
        for number in (result.wrong_values if result.drawn.expected else ())
        if result.answers[number].status == result.drawn.expected[number].status == "value"
        and not is_small(result.drawn.expected[number].value)
    )
    for _, place, number in cases[:MOST_CASES] if in_other_cases else ():
        found = describe_difference(failing[place], number)
        if found.kind not in LOOKED_INTO:
            return replace(found, evidence=describe_evidence(failing[place], number))
    looks = [_Look(exercise, failing[place], number) for _, place, number in cases]
    if not looks:
        return None
    # Where the difference itself says something, it is a case in which most is wrong.
    look = looks[0] if in_other_cases else max(looks, key=lambda look: len(look.wrong))
    return next(chain(look.fits(), look.two_changes(), look.two_steps()), None)


class _Look:
    """One wrong result of one case, and the right one."""

    def __init__(self, exercise: Exercise, result: GroupResult, number: int) -> None:
        self.exercise, self.result, self.number = exercise, result, number
        self.case = result.drawn.cases[number]
        self.actual = result_values(result.answers[number].value)
        self.expected = result_values(result.drawn.expected[number].value)
        is_same_form = len(self.actual) == len(self.expected)
        pairs = zip(self.actual, self.expected, strict=True) if is_same_form else ()
        self.agrees = [same_value(*pair, exercise.tolerance) for pair in pairs]
        order = exercise.order_of_computation(len(self.agrees))
        self.wrong = [index for index in order if not self.agrees[index] and index < len(exercise.results)]

    def is_actual(self, index: int, value: Any) -> bool:
        return same_value(self.actual[index], value, self.exercise.tolerance)

    def found(self, cause: Cause, index: int, **facts: Any) -> Finding:
        evidence = describe_evidence(self.result, self.number)
        return replace(cause.found(name=self.exercise.results[index], **facts), evidence=evidence)

    def distance(self, index: int, answer: Answer) -> float:
        """How far result `index` of an answer is from the student's; infinite if they cannot be compared."""
        values = result_values(answer.value) if answer.status == "value" else ()
        if len(values) != len(self.actual):
            return math.inf
        value, actual, kind = values[index], self.actual[index], kind_of(self.actual[index])
        if not isinstance(kind, ArrayKind) or kind_of(value) is not kind or value.shape != actual.shape:
            return math.inf
        return float(abs(kind.as_numbers(value) - kind.as_numbers(actual)).mean())

    def fits(self) -> Iterator[Finding]:
        """Look for the number with which the right result of a changed case is the student's."""
        for fitted in chain(self.exercise.fitted_cases(self.case), self.larger_arguments()):

            def answered(logarithm: float, changed: Callable[[float], Any] = fitted.case) -> Answer:
                (call,) = calls_for([replace(changed(math.exp(logarithm)), gradients=False)], [None])
                return answers_of(self.result.drawn.reference, [not_measured(call)])[0]

            for index in self.wrong[:1]:
                place = _lowest(lambda logarithm: self.distance(index, answered(logarithm)))  # noqa: B023
                value = result_values(answered(place).value)
                if abs(place) > FIT_LEAST and self.is_actual(index, value[index]):
                    yield self.found(Cause.OTHER_CASE, index, clause=fitted.words(math.exp(place)))

    def larger_arguments(self) -> Iterator[FittedCase]:
        """Arguments times a number, as fractions may be on the way."""
        names = argument_names(receiver(self.result.drawn.reference, self.case))
        for place, (name, value) in enumerate(zip(names, self.case.args, strict=False)):
            kind = kind_of(value)
            if isinstance(kind, ArrayKind) and kind.is_floating(value):

                def larger(factor: float, place: int = place) -> Case:
                    args = [factor * each if at == place else each for at, each in enumerate(self.case.args)]
                    return replace(self.case, args=tuple(args))

                yield FittedCase(f"`{name}` were multiplied by {{:.4g}}".format, larger)

    def two_changes(self) -> Iterator[Finding]:
        """Look for something that is done to all numbers of a result in which another thing is wrong."""
        # NumPy is imported only if there is an array.
        from nbjudge.judge.array_messages import one_step_more

        for index in self.wrong:
            name = self.exercise.results[index]
            for clause, value in other_results(self.result, self.number, index):
                if not same_value(value, self.expected[index], self.exercise.tolerance):
                    step = one_step_more(self.exercise, self.case, name, self.actual[index], value)
                    if step is not None:
                        yield self.found(Cause.TWO_CAUSES, index, clause=clause, besides=step.sentence)

    def two_steps(self) -> Iterator[Finding]:
        """Look for two of the exercise's wrong steps that together give the result."""
        end = time.process_time() + MOST_SECONDS
        call = not_measured(self.result.drawn.calls[self.number]) | {"cotangents": None}

        def answered(step: WrongStep) -> Answer:
            answer = self.exercise.as_called(with_steps(step.right, step.change))
            return answers_of(answer, [call])[0]

        distances = list[tuple[float, int]]()
        for index in self.wrong[:1]:
            for place, step in enumerate(self.exercise.steps):
                if step.mistake is None or not any(claim in step.mistake.message for claim in CLAIMS):
                    answer = answered(step)
                    distance = self.distance(index, answer)
                    if math.isfinite(distance) and self.is_possible(answer):
                        distances.append((distance, place))
            likely = [self.exercise.steps[place] for _, place in sorted(distances)]
            pairs = sorted(combinations(range(len(likely)), 2), key=sum)  # those that come closest are first
            for one, other in ((likely[first], likely[second]) for first, second in pairs):
                if time.process_time() > end:
                    return
                if one.right is other.right and not set(one.change) & set(other.change):
                    answer = answered(WrongStep(one.right, {**one.change, **other.change}))
                    if self.distance(index, answer) < math.inf and self.is_explained(answer):
                        yield self.told(index, one, other)

    def is_explained(self, answer: Answer) -> bool:
        """Return whether all wrong results are those of an answer."""
        values = result_values(answer.value)
        return all(self.is_actual(index, values[index]) for index in self.wrong)

    def is_possible(self, answer: Answer) -> bool:
        """Return whether a step changes a wrong result, and none that agrees."""
        same = [
            same_value(*pair, self.exercise.tolerance)
            for pair in zip(result_values(answer.value), self.expected, strict=True)
        ]
        return not all(same) and all(own for own, agrees in zip(same, self.agrees, strict=True) if agrees)

    def told(self, index: int, one: WrongStep, other: WrongStep) -> Finding:
        if one.clause and other.clause:
            return self.found(Cause.OTHER_CASE, index, clause=f"{one.clause}, and {other.clause}")
        sentences = [
            step.mistake.message if step.mistake else Cause.AS_IF.says(clause=step.clause)
            for step in (one, other)
        ]
        return self.found(Cause.TWO_MISTAKES, index, one=sentences[0], other=sentences[1])


def _lowest(function: Callable[[float], float]) -> float:
    """Return where a function is lowest between -`FIT_WIDTH` and `FIT_WIDTH`, by a golden-section search."""
    places = [FIT_WIDTH * (place / FIT_PLACES - 1) for place in range(2 * FIT_PLACES + 1)]
    best = min(places, key=function)
    low, high = best - FIT_WIDTH / FIT_PLACES, best + FIT_WIDTH / FIT_PLACES
    one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_one, at_other = function(one), function(other)
    for _ in range(FIT_STEPS):
        if at_one < at_other:
            high, other, at_other = other, one, at_one
            one = high - GOLDEN * (high - low)
            at_one = function(one)
        else:
            low, one, at_one = one, other, at_other
            other = low + GOLDEN * (high - low)
            at_other = function(other)
    return (low + high) / 2


def _size(value: Any) -> int:
    return sum(math.prod(leaf.shape) for _, leaf in leaves(value) if isinstance(kind_of(leaf), ArrayKind))
