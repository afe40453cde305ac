"""The result of one case group: the student's answers compared with the expected ones.

Besides wrong values, a forbidden call (see `nbjudge.authoring.Step`) costs the group. A module can be
compared on the random weights that it drew itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise, Group, Step, Tolerance
from nbjudge.calls import Answer, answers_of
from nbjudge.judge.compare import changes_arguments, has_expected_values, same_value, unreadable_part
from nbjudge.judge.drawn_group import DrawnGroup
from nbjudge.judge.findings import Cause
from nbjudge.judge.verdict import FORBIDDEN, Finding
from nbjudge.probe.watching import ANOTHER_THREAD
from nbjudge.values.kinds import ArrayKind, kind_of
from nbjudge.values.packing import pack


def find_forbidden_call(exercise: Exercise, answers: Sequence[Answer]) -> Finding | None:
    """Return a finding if an answer ran a forbidden call, or computed where nothing is counted."""
    ran = frozenset[str]().union(*(answer.ran for answer in answers))
    forbidden = forbidden_step(exercise.not_allowed, ran)
    if forbidden is not None:
        step, call = forbidden
        found = Cause.NOT_ALLOWED.found(name=exercise.name, step=step.called, call=call)
        return replace(found, mistake=FORBIDDEN)
    return Cause.OTHER_THREAD.found(name=exercise.name) if ANOTHER_THREAD in ran else None


def forbidden_step(steps: Collection[Step], ran: Collection[str]) -> tuple[Step, str] | None:
    """Return the first of the forbidden steps that ran, and the call as the student may have written it."""
    for step in steps:
        for pattern in step.patterns():
            for name in sorted(ran):
                if fnmatchcase(name, pattern):
                    return step, step.as_written(name)
    return None


Weights = dict[str, Any]
MOST_CACHED = 64  # sets of weights: students' layers with one seed mostly draw the same ones


@dataclass(frozen=True)
class OwnWeights:
    """The parameters in a state_dict, without its buffers; equal if all numbers are equal."""

    digest: bytes
    weights: Weights = field(compare=False)


def compare_on_own_weights(exercise: Exercise, drawn: DrawnGroup, values: list[Any]) -> Finding | None:
    """Return a finding unless the reference gives the same result on the weights of the student's module."""
    for index, value in enumerate(values):
        state = value.get("state") if isinstance(value, dict) else None
        if not isinstance(state, dict):
            return Cause.NO_WEIGHTS.found(name=exercise.name)
        expected = _result(drawn, index, _own_weights(drawn, index, state))
        if expected.status != "value":
            return Cause.OTHER_WEIGHTS.found(name=exercise.name)
        if not same_value(value.get("result"), expected.value, exercise.tolerance):
            return Cause.UNUSED_WEIGHTS.found(name=exercise.name)
    return None


def are_too_small(drawn: DrawnGroup, answers: list[Answer]) -> bool:
    """Return whether a weight matrix could be replaced by zeros without a change of the result.

    Students may initialise a module as they like, so this is not wrong. But with weights of almost zero a
    wrong formula gives the same result as the right one, so the group does not prove anything.
    """
    return any(
        _zeros_change_nothing(drawn, index, _own_weights(drawn, index, answer.value["state"]))
        for index, answer in enumerate(answers)
    )


@lru_cache(maxsize=MOST_CACHED)
def _zeros_change_nothing(drawn: DrawnGroup, index: int, own: OwnWeights) -> bool:
    result = _result(drawn, index, own).value
    for name, values in own.weights.items():
        kind = kind_of(values)
        if isinstance(kind, ArrayKind) and len(values.shape) > 1:
            zeroed = own.weights | {name: kind.zeros_like(values)}
            if same_value(_read_module(drawn, index, zeroed, "result").value, result, Tolerance()):
                return True
    return False


def _own_weights(drawn: DrawnGroup, index: int, state: dict[str, Any]) -> OwnWeights:
    parameters = _read_module(drawn, index, None, "parameters").value["parameters"]
    weights = {name: state[name] for name in parameters if name in state}
    return OwnWeights(hashlib.sha256(pack(weights).encode()).digest(), weights)


@lru_cache(maxsize=MOST_CACHED)
def _result(drawn: DrawnGroup, index: int, own: OwnWeights) -> Answer:
    return _read_module(drawn, index, own.weights, "result")


def _read_module(drawn: DrawnGroup, index: int, weights: Weights | None, side: str) -> Answer:
    """Return what the reference answers with other weights, where only `side` of the module is read."""
    call = drawn.calls[index]
    build = call["build"] | {"state": weights, "look": [side]}
    (answer,) = answers_of(drawn.reference, [call | {"build": build}])
    return answer


@dataclass(frozen=True, eq=False)
class GroupResult:
    """A drawn group, the answers to its calls, and what is wrong with them."""

    exercise: Exercise
    drawn: DrawnGroup
    answers: list[Answer]
    # Why the group fails apart from the comparison: a forbidden call, a verifier, the retest.
    objection: Finding | None
    wrong_values: tuple[int, ...]  # indices of the cases with wrong values, gradients or errors
    changed_cases: tuple[int, ...] = ()  # indices of the cases in which arguments are changed
    change_in_retest: Finding | None = None  # arguments are changed, but only in the retest
    fails_for_changes: bool = False  # whether the group is lost because arguments are changed
    is_nondeterministic: bool = False  # whether the same call, made twice, gave two results

    @property
    def group(self) -> Group:
        return self.drawn.group

    @property
    def failed_cases(self) -> tuple[int, ...]:
        """The indices of the cases that cost the group; those with wrong values, where there are some."""
        return self.wrong_values or (self.changed_cases if self.fails_for_changes else ())

    @property
    def passed(self) -> bool:
        return self.objection is None and not self.failed_cases

    @property
    def objection_to_value(self) -> Finding | None:
        """The objection, unless it is that there is no value, which the comparison says better."""
        has_none = self.objection is None or self.objection.kind == Cause.NOTHING_TO_VERIFY.kind
        return None if has_none else self.objection

    @property
    def is_measured(self) -> bool:
        """Return whether memory or multiplications are measured, which matter less than wrong values."""
        return any(case.measure is not None for case in self.drawn.cases)

    @property
    def only_raises(self) -> bool:
        """Return whether every case must raise an error."""
        return all(case.refuses is not None for case in self.drawn.cases)

    @property
    def weights_too_small(self) -> bool:
        """Return whether it passed on random weights so small that most wrong formulas would pass as well."""
        return self.group.fresh and self.passed and are_too_small(self.drawn, self.answers)


def compare_group(exercise: Exercise, drawn: DrawnGroup, answers: list[Answer]) -> GroupResult:
    """Compare the answers to a drawn group, one per case, with the expected ones."""
    if drawn.expected:
        answers = [
            each.without_allowed_changes(expected)
            for each, expected in zip(answers, drawn.expected, strict=True)
        ]
    triples = list(zip(drawn.cases, answers, drawn.expected, strict=False))  # none if no value is compared
    wrong = tuple(i for i, triple in enumerate(triples) if not has_expected_values(exercise, *triple))
    changed = tuple(i for i, (case, answer, _) in enumerate(triples) if changes_arguments(case, answer))
    forbidden = find_forbidden_call(exercise, answers)
    objection = forbidden or (None if wrong else _verifier_finding(exercise, drawn, answers))
    if objection is not None and not drawn.expected:
        wrong = _objected_cases(drawn, answers)
    fails_for_changes = exercise.changed_arguments == "all groups" and bool(changed)
    return GroupResult(
        exercise, drawn, answers, objection, wrong, changed, fails_for_changes=fails_for_changes
    )


def run_verifier(group: Group, cases: Sequence[Case], values: Sequence[Any]) -> str | None:
    """Return what a group's verifier says; an empty text if it raises on values of an unexpected kind."""
    assert group.verify is not None
    try:
        return group.verify(list(cases), list(values))
    except Exception:
        return ""


def _objected_cases(drawn: DrawnGroup, answers: Sequence[Answer]) -> tuple[int, ...]:
    """The indices of the cases that fail on their own; all cases if none does."""
    every_case = tuple(range(len(answers)))
    no_value = _cases_without_value(drawn, answers)
    if drawn.group.verify is None or no_value:
        return no_value or every_case
    failed = (
        index
        for index in every_case
        if run_verifier(drawn.group, [drawn.cases[index]], [answers[index].value])
    )
    return tuple(failed) or every_case


def _cases_without_value(drawn: DrawnGroup, answers: Sequence[Answer]) -> tuple[int, ...]:
    """The indices of the cases in which there is nothing to verify: the answer gives no value of any use.

    None is of no use unless the reference returns it, too, and what could not be read is not either.
    """
    return tuple(
        index
        for index, answer in enumerate(answers)
        if answer.status != "value"
        or unreadable_part(answer.value) is not None
        or (answer.value is None and drawn.reference_answer(index).value is not None)
    )


def _verifier_finding(exercise: Exercise, drawn: DrawnGroup, answers: list[Answer]) -> Finding | None:
    """Return what the group's `verify` says, or the comparison on the weights that a module drew itself."""
    if drawn.group.verify is None and not drawn.group.fresh:
        return None
    if _cases_without_value(drawn, answers):
        return Cause.NOTHING_TO_VERIFY.found()
    values = [
        answer.value if case.measure is None else answer.measured
        for case, answer in zip(drawn.cases, answers, strict=True)
    ]
    if drawn.group.verify is None:
        return compare_on_own_weights(exercise, drawn, values)
    told = run_verifier(drawn.group, drawn.cases, values)
    if told is None:
        return None
    for mistake in exercise.mistakes:
        if mistake.name == told:
            return replace(Cause.MISTAKE.found(message=mistake.message), mistake=mistake.name)
    return Cause.VERIFIER.found(objection=told) if told else Cause.DIFFERS.found(name=exercise.name)
