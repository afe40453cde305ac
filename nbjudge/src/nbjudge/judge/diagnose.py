"""From wrong answers to the sentence that helps: a named mistake first, a measurement otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from nbjudge.ask.answers import Answer
from nbjudge.authoring.exercise import Exercise, Mistake
from nbjudge.judge import wording
from nbjudge.judge.compare import same_answer, same_value
from nbjudge.judge.measure import evidence_of, measure
from nbjudge.judge.questions import GroupRun
from nbjudge.judge.verdict import Finding
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of, owned_values

MOST_FINDINGS = 3


def diagnose(exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun]) -> list[Finding]:
    """The findings of a judgement, the most telling first: forbidden steps, named mistakes, measurements."""
    failing = [run for run in runs if not run.agrees]
    objected = [run for run in failing if run.objection is not None and run.objection.sentence]
    rest = [run for run in failing if run not in objected]
    # Who is wrong on given weights is wrong on weights of their own, too, and for the same reason.
    explained = any(run.wrong and run.question.expected for run in rest)
    compares = any(each.question.expected for each in failing)
    objections = [
        ((run.group.said_last and compares) or (run.by_chance and explained), run.objection)
        for run in objected
        if run.objection is not None and not (explained and run.group.fresh and run.objection.mistake is None)
    ]
    compared = [(False, finding) for finding in _from_comparisons(exercise, reference, runs, rest)]
    findings = sorted(
        [*objections, *compared],
        key=lambda said: (said[1].mistake != "not_allowed", said[0], said[1].mistake is None),
    )
    unique = list({finding.sentence: finding for _, finding in findings}.values())
    return unique[:MOST_FINDINGS]


def _from_comparisons(
    exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun], failing: list[GroupRun]
) -> list[Finding]:
    """What the failing groups show: a mistake behind all of them, or else one finding for each."""
    compared = [run for run in runs if run.question.expected]
    wrong = [run for run in failing if run.question.expected]

    @cache
    def behaves_like(mistake_index: int, run_index: int) -> bool:
        return explains(exercise, exercise.mistakes[mistake_index], compared[run_index])

    if wrong:
        for index, mistake in enumerate(exercise.mistakes):
            if all(behaves_like(index, run) for run in range(len(compared))):
                return [_named(exercise, reference, mistake, wrong[0])]

    findings, unexplained = [], list(failing)
    while True:
        # The mistake behind the most groups is the likeliest; of equals, the one listed first.
        explained = {
            index: [run for run in unexplained if run in wrong and behaves_like(index, compared.index(run))]
            for index in range(len(exercise.mistakes))
        }
        best = max(explained, key=lambda index: len(explained[index]), default=None)
        if best is None or not explained[best]:
            break
        findings.append(_named(exercise, reference, exercise.mistakes[best], explained[best][0]))
        unexplained = [run for run in unexplained if run not in explained[best]]
    return findings + [_measured(exercise, reference, run) for run in unexplained]


def explains(exercise: Exercise, mistake: Mistake, run: GroupRun) -> bool:
    """Whether the mistake gives exactly the student's answers in a group of cases."""
    if any(answer.status not in ("value", "raised") for answer in run.answers):
        return False
    # Exceptions of one type have many causes: where nothing but exceptions speaks, they must read alike.
    only_exceptions = all(run.answers[index].status == "raised" for index in run.wrong)
    for index, answer in enumerate(run.answers):
        theirs = run.question.mistaken(mistake, index)
        if not same_answer(answer, theirs, exercise.tolerance):
            return False
        if only_exceptions and answer.message != theirs.message:
            return False
    return True


def _named(exercise: Exercise, reference: Callable[..., Any], mistake: Mistake, run: GroupRun) -> Finding:
    measured = _measurement(exercise, reference, run)
    return Finding(mistake.message, mistake.name, _evidence(exercise, run), measured)


def _measured(exercise: Exercise, reference: Callable[..., Any], run: GroupRun) -> Finding:
    return Finding(_measurement(exercise, reference, run), evidence=_evidence(exercise, run))


def _measurement(exercise: Exercise, reference: Callable[..., Any], run: GroupRun) -> str:
    if _always_the_same(exercise, run):
        return wording.always_the_same(exercise, len(run.answers))
    if not run.question.expected:  # then nothing is compared: what there is to say is why a value is missing
        index = next((n for n, answer in enumerate(run.answers) if answer.status != "value"), 0)
        return measure(exercise, reference, run.question.cases[index], run.answers[index], Answer("value"))
    index = run.wrong[0] if run.wrong else 0
    expected = run.question.expected[index]
    return measure(exercise, reference, run.question.cases[index], run.answers[index], expected)


def _always_the_same(exercise: Exercise, run: GroupRun) -> bool:
    """Whether several calls got one and the same value, and should not have."""
    first, *others = run.answers
    expected = run.question.expected
    if not others or not expected or any(answer.status != "value" for answer in run.answers):
        return False
    if first.value is None or any(
        bool((each != each).any()) for _, each in owned_values(first.value) if _is_array(each)
    ):
        return False  # a missing `return` and NaN have sentences of their own
    one_value = all(same_value(other.value, first.value, exercise.tolerance) for other in others)
    return one_value and not all(
        same_value(other.value, expected[0].value, exercise.tolerance) for other in expected[1:]
    )


def _is_array(value: Any) -> bool:
    return isinstance(kind_of(value), ArrayKind)


def _evidence(exercise: Exercise, run: GroupRun) -> str:
    shown = [index for index in run.wrong if run.answers[index].status == "value"]
    if not shown:
        return ""
    index = shown[0]
    expected = run.question.expected[index] if run.question.expected else Answer("value")
    case, reference = run.question.cases[index], run.question.reference
    asked = evidence_of(exercise, reference, case, run.answers[index], expected)
    return f"{asked} (From the group “{run.group.name}”.)"
