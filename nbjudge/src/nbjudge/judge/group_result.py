"""The result of one case group: the student's answers compared with the expected ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise, Group
from nbjudge.judge.compare import changes_arguments, has_expected_values
from nbjudge.judge.drawn_group import DrawnGroup
from nbjudge.judge.forbidden_calls import find_forbidden_call
from nbjudge.judge.own_weights import are_too_small, compare_on_own_weights
from nbjudge.judge.verdict import Finding
from nbjudge.kernel.protocol import Answer


@dataclass(frozen=True, eq=False)
class GroupResult:
    """A drawn group, the answers to its calls, and what is wrong with them."""

    drawn: DrawnGroup
    answers: list[Answer]
    # Why the group fails apart from the comparison: a forbidden call, a verifier, the retest.
    objection: Finding | None
    wrong_values: tuple[int, ...]  # indices of the cases with wrong values, gradients or errors
    changed_cases: tuple[int, ...] = ()  # indices of the cases in which arguments are changed
    change_in_retest: Finding | None = None  # arguments are changed, but only in the retest
    fails_for_changes: bool = False  # whether the group is lost because arguments are changed
    passed_by_chance: bool = False  # whether the objection is that only the first numbers came out right
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
    def is_measured(self) -> bool:
        """Whether memory or multiplications are measured, which matter less than wrong values."""
        return any(case.measure is not None for case in self.drawn.cases)

    @property
    def only_raises(self) -> bool:
        """Whether every case must raise an error."""
        return all(case.refuses is not None for case in self.drawn.cases)

    @property
    def weights_too_small(self) -> bool:
        """Whether it passed on random weights so small that most wrong formulas would pass as well."""
        return self.group.fresh and self.passed and are_too_small(self.drawn, self.answers)


def compare_group(exercise: Exercise, drawn: DrawnGroup, answers: list[Answer]) -> GroupResult:
    """Compare the answers to a drawn group with the expected ones.

    Parameters
    ----------
    exercise
        The exercise, with its tolerance and its forbidden calls.
    drawn
        The group and the expected answers.
    answers
        One answer per case.

    Returns
    -------
    GroupResult
        Which cases fail, and why.
    """
    if drawn.expected:
        answers = [
            each.without_allowed_changes(expected)
            for each, expected in zip(answers, drawn.expected, strict=True)
        ]
    forbidden = find_forbidden_call(exercise, answers)
    if not drawn.expected:
        objection = forbidden or _verifier_finding(exercise, drawn, answers)
        return GroupResult(drawn, answers, objection, _objected_cases(drawn, answers) if objection else ())
    triples = list(zip(drawn.cases, answers, drawn.expected, strict=True))
    wrong = tuple(i for i, triple in enumerate(triples) if not has_expected_values(exercise, *triple))
    changed = tuple(i for i, (case, answer, _) in enumerate(triples) if changes_arguments(case, answer))
    objection = forbidden or (None if wrong else _verifier_finding(exercise, drawn, answers))
    all_groups = exercise.changed_arguments == "all groups"
    return GroupResult(
        drawn, answers, objection, wrong, changed, fails_for_changes=all_groups and bool(changed)
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
    no_value = tuple(index for index in every_case if answers[index].status != "value")
    if drawn.group.verify is None or no_value:
        return no_value or every_case
    failed = (
        index
        for index in every_case
        if run_verifier(drawn.group, [drawn.cases[index]], [answers[index].value])
    )
    return tuple(failed) or every_case


def _verifier_finding(exercise: Exercise, drawn: DrawnGroup, answers: list[Answer]) -> Finding | None:
    """What the group's `verify` says, or the comparison on the weights that a module drew itself."""
    if drawn.group.verify is None and not drawn.group.fresh:
        return None
    if any(answer.status != "value" for answer in answers):
        return Finding("")  # there is nothing to verify; the measurement says why
    values = [
        answer.value if case.measure is None else answer.measured
        for case, answer in zip(drawn.cases, answers, strict=True)
    ]
    if drawn.group.verify is None:
        return compare_on_own_weights(exercise, drawn, values)
    sentence = run_verifier(drawn.group, drawn.cases, values)
    if sentence is None:
        return None
    sentence = sentence or f"`{exercise.name}` does not return what the exercise asks for."
    messages = {mistake.name: mistake.message for mistake in exercise.mistakes}
    return Finding(messages[sentence], mistake=sentence) if sentence in messages else Finding(sentence)
