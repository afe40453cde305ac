"""One case group: drawn, and held against what the reference answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nbjudge.authoring.case import Case
from nbjudge.authoring.exercise import Exercise, Group, Mistake
from nbjudge.errors import CourseError
from nbjudge.judge.compare import same_gradients, same_value
from nbjudge.judge.computed_values import requires_computation
from nbjudge.judge.forbidden import forbidden_step, went_elsewhere
from nbjudge.judge.own_weights import say_nothing, with_its_own_weights
from nbjudge.judge.verdict import Finding
from nbjudge.kernel.replies import Answer, answers_of, calls_for
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of
from nbjudge.values.packing import why_it_cannot_travel

MOST_NUMBERS = 10  # in the sentence of a refusal
# Divided by the smallest normal float32, as a right answer may do where a sum is empty, it is still finite.
LARGEST_COTANGENT = 3.0
BROKEN_CASE = "Case {} of the group “{}” of `{}` {}: mend it in checks/."


@dataclass(frozen=True, eq=False)
class Question:
    """What a case group asks on one seed, and what the reference and the mistakes answer to it."""

    group: Group
    reference: Callable[..., Any]
    cases: list[Case]
    calls: list[dict[str, Any]]
    expected: list[Answer]  # empty where no value is compared
    requires_computation: bool  # whether nobody answers it right without work
    asked_again_times: float = 0.5  # see `Exercise`
    # Filled by `nbjudge.judge.again`: the calls of a second round, and what the reference answers.
    second_round: list[tuple[list[dict[str, Any]], list[Answer]]] = field(default_factory=list)
    _mistaken: dict[tuple[str, int], Answer] = field(default_factory=dict)

    def mistaken(self, mistake: Mistake, index: int) -> Answer:
        """What a mistake answers to one of the calls."""
        if (mistake.name, index) not in self._mistaken:
            (answer,) = answers_of(mistake.answer, [not_measured(self.calls[index])])
            self._mistaken[mistake.name, index] = (
                answer.beside(self.expected[index]) if self.expected else answer
            )
        return self._mistaken[mistake.name, index]


@dataclass(frozen=True, eq=False)
class GroupRun:
    """A question after it was asked: what came back, and what is wrong with it."""

    question: Question
    answers: list[Answer]
    # What a rule other than the comparison says against it: a forbidden step, a verifier.
    objection: Finding | None
    wrong_values: tuple[int, ...]  # the indices of the cases whose values (or refusals, gradients) are wrong
    changes: tuple[int, ...] = ()  # the indices of the cases in which arguments are changed
    late_change: Finding | None = None  # that arguments are changed when it is called once more
    is_charged: bool = False  # whether the group is lost because arguments are changed
    by_chance: bool = False  # whether the objection is that it agreed on its first numbers only
    is_unsteady: bool = False  # whether one call, made twice, gave two results

    @property
    def group(self) -> Group:
        return self.question.group

    @property
    def wrong(self) -> tuple[int, ...]:
        """The indices of the cases that cost the group; those with wrong values, where there are some."""
        return self.wrong_values or (self.changes if self.is_charged else ())

    @property
    def is_measured(self) -> bool:
        """Whether what an answer takes is looked at, which matters less than what is wrong with values."""
        return any(case.measure is not None for case in self.question.cases)

    @property
    def only_refuses(self) -> bool:
        """Whether nothing but refusals is asked for."""
        return all(case.refuses is not None for case in self.question.cases)

    @property
    def agrees(self) -> bool:
        return self.objection is None and not self.wrong

    @property
    def says_nothing(self) -> bool:
        """Whether it agrees on weights of the module's own on which most wrong formulas would agree, too."""
        return self.group.fresh and self.agrees and say_nothing(self.question, self.answers)


# Whoever judges several answers on one seed asks the reference once.
@lru_cache(maxsize=64)
def question(exercise: Exercise, group: Group, reference: Callable[..., Any], seed: int) -> Question:
    """Draw a group's cases and let the reference answer them.

    Raises CourseError where it cannot, or where a case holds what cannot travel.
    """
    draw = exercise.draw(group_seed(seed, exercise.name, group.name))
    cases = group.cases(draw)
    _refuse_what_cannot_travel(exercise, group, cases)
    plain = calls_for(cases, [None] * len(cases))
    cotangents = [
        _cotangents(reference, call, draw) if case.gradients else None
        for case, call in zip(cases, plain, strict=True)
    ]
    calls = calls_for(cases, cotangents)
    compared = not group.fresh and (group.verify is None or any(case.measure for case in cases))
    expected = answers_of(reference, [not_measured(call) for call in calls]) if compared else []
    _refuse_broken_cases(exercise, group, cases, expected)
    needs_work = requires_computation(group, cases, expected)
    return Question(group, reference, cases, calls, expected, needs_work, exercise.asked_again_times)


def not_measured(call: dict[str, Any]) -> dict[str, Any]:
    """The same call, for what its value is: to measure takes time."""
    return call | {"measure": None}


def run_of(exercise: Exercise, asked: Question, answers: list[Answer]) -> GroupRun:
    """Hold the answers to a question against the expected ones."""
    if asked.expected:
        answers = [each.beside(right) for each, right in zip(answers, asked.expected, strict=True)]
    forbidden = _forbidden(exercise, answers)
    if not asked.expected:
        objection = forbidden or _verified(exercise, asked, answers)
        return GroupRun(asked, answers, objection, _objected_to(asked, answers) if objection else ())
    triples = list(zip(asked.cases, answers, asked.expected, strict=True))
    wrong = tuple(index for index, triple in enumerate(triples) if not values_right(exercise, *triple))
    changes = tuple(index for index, (case, answer, _) in enumerate(triples) if _changes(case, answer))
    objection = forbidden or (None if wrong else _verified(exercise, asked, answers))
    all_groups = exercise.changed_arguments == "all groups"
    return GroupRun(asked, answers, objection, wrong, changes, is_charged=all_groups and bool(changes))


def verified(group: Group, cases: Sequence[Case], values: Sequence[Any]) -> str | None:
    """What a group's verifier says; empty where it stops, at values of a kind that it does not expect."""
    assert group.verify is not None
    try:
        return group.verify(list(cases), list(values))
    except Exception:
        return ""


def _objected_to(asked: Question, answers: Sequence[Answer]) -> tuple[int, ...]:
    """Of the cases of a group that an objection is to, those that it is to by themselves; all without any."""
    everything = tuple(range(len(answers)))
    no_value = tuple(index for index in everything if answers[index].status != "value")
    if asked.group.verify is None or no_value:
        return no_value or everything
    alone = (verified(asked.group, [asked.cases[index]], [answers[index].value]) for index in everything)
    objected = [index for index, said in enumerate(alone) if said]
    return tuple(objected) or everything


def group_seed(seed: int, exercise: str, group: str) -> int:
    """A seed of its own for each group, so that adding one group leaves the others' inputs alone."""
    digest = hashlib.sha256(f"{seed}/{exercise}/{group}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def right(exercise: Exercise, case: Case, answer: Answer, expected: Answer) -> bool:
    """Whether one answer is what the contract asks for, and leaves its arguments as they were."""
    return values_right(exercise, case, answer, expected) and not _changes(case, answer)


def values_right(exercise: Exercise, case: Case, answer: Answer, expected: Answer) -> bool:
    """Whether one answer refuses, returns and differentiates as the contract asks for."""
    if case.refuses is not None:
        return refuses_well(case, answer)
    if answer.status != "value":
        return False
    if not same_value(answer.value, expected.value, exercise.tolerance):
        return False
    return not case.gradients or same_gradients(answer, expected, exercise.tolerance)


def _changes(case: Case, answer: Answer) -> bool:
    return case.refuses is None and answer.status == "value" and bool(answer.changed)


def changes_values(answer: Answer) -> bool:
    """Whether it changes arrays or lists that it was given; an object may be there to be changed."""
    return any("." not in place for place in answer.changed)


def refuses_well(case: Case, answer: Answer) -> bool:
    """A ValueError whose sentence holds the clashing numbers."""
    enough = [case.refuses or (), *([case.or_naming] if case.or_naming else [])]
    return (
        answer.status == "raised"
        and answer.error == "ValueError"
        and any(all(_holds(answer.message, number) for number in numbers) for numbers in enough)
        # A sentence that holds every number names none: two whole shapes are the most it may say.
        and len(set(re.findall(r"\d+", answer.message))) <= MOST_NUMBERS
    )


def _holds(sentence: str, number: int) -> bool:
    return re.search(rf"(?<!\d){number}(?!\d)", sentence) is not None


def _cotangents(reference: Callable[..., Any], call: dict[str, Any], draw: Any) -> list[Any]:
    """Random weights for the outputs, so that one backward pass sees every one of them."""
    (expected,) = answers_of(reference, [call])
    values = expected.value if isinstance(expected.value, (list, tuple)) else [expected.value]
    kinds = [(kind_of(value), value) for value in values]
    return [
        draw.normal(*value.shape, dtype=value.dtype).clip(-LARGEST_COTANGENT, LARGEST_COTANGENT)
        for kind, value in kinds
        if isinstance(kind, ArrayKind) and kind.differentiates and kind.is_floating(value)
    ]


def _refuse_broken_cases(
    exercise: Exercise, group: Group, cases: Sequence[Case], expected: Sequence[Answer]
) -> None:
    """Raises CourseError where the author's own answer is none, which would cost every student the points."""
    for number, (case, answer) in enumerate(zip(cases, expected, strict=False), 1):
        said = f"{answer.error}: {answer.message}" if answer.status == "raised" else f"“{answer.status}”"
        if case.refuses is not None:
            if refuses_well(case, answer):
                continue
            problem = (
                "is to be refused, and the solution does not raise a ValueError with the numbers "
                f"{', '.join(map(str, case.refuses))} (it gives {said})"
            )
        elif answer.status == "value" and not changes_values(answer):
            continue
        elif answer.changed:
            problem = "has its arguments changed by the solution"
        else:
            problem = f"cannot be answered by the solution itself ({said})"
        raise CourseError(BROKEN_CASE.format(number, group.name, exercise.name, problem))


def _refuse_what_cannot_travel(exercise: Exercise, group: Group, cases: Sequence[Case]) -> None:
    for number, case in enumerate(cases, 1):
        said = why_it_cannot_travel([case.args, case.kwargs, *([vars(case.build)] if case.build else [])])
        if said:
            problem = f"asks with {said}"
            raise CourseError(BROKEN_CASE.format(number, group.name, exercise.name, problem))


def _forbidden(exercise: Exercise, answers: list[Answer]) -> Finding | None:
    ran = frozenset[str]().union(*(answer.ran for answer in answers))
    forbidden = forbidden_step(exercise.not_allowed, ran)
    if forbidden is not None:
        step, name = forbidden
        return Finding(
            f"`{exercise.name}` runs {step.called} (`{name}`), and this is the step you are asked to write.",
            mistake="not_allowed",
        )
    elsewhere = went_elsewhere(exercise.not_allowed, ran)
    if elsewhere is not None:
        return Finding(f"`{exercise.name}` {elsewhere}", mistake="not_allowed")
    return None


def _verified(exercise: Exercise, asked: Question, answers: list[Answer]) -> Finding | None:
    """What the group's `verify` says, or the weights that a module drew itself."""
    if asked.group.verify is None and not asked.group.fresh:
        return None
    if any(answer.status != "value" for answer in answers):
        return Finding("")  # nothing to look at; the measurement says why
    values = [
        answer.value if case.measure is None else answer.measured
        for case, answer in zip(asked.cases, answers, strict=True)
    ]
    if asked.group.verify is None:
        return with_its_own_weights(exercise, asked, values)
    said = verified(asked.group, asked.cases, values)
    if said is None:
        return None
    said = said or f"`{exercise.name}` does not return what the exercise asks for."
    named = {mistake.name: mistake.message for mistake in exercise.mistakes}
    return Finding(named[said], mistake=said) if said in named else Finding(said)
