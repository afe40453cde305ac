"""From wrong answers to the sentence that helps: a named mistake first, a measurement otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from attention_lab.grading.answers import Answer, answers_of
from attention_lab.grading.compare import same_answer
from attention_lab.grading.exercise import Exercise, Mistake
from attention_lab.grading.measure import evidence_of, measure
from attention_lab.grading.runs import GroupRun
from attention_lab.grading.verdict import Finding

MOST_FINDINGS = 3


def diagnose(exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun]) -> list[Finding]:
    """The findings of a judgement, the most telling first."""
    failing = [run for run in runs if not run.agrees(exercise)]
    objections = [run.objection for run in failing if run.objection is not None and run.objection.sentence]
    findings = [*objections, *_from_comparisons(exercise, reference, runs, failing)]
    unique = list({finding.sentence: finding for finding in findings}.values())
    return unique[:MOST_FINDINGS]


def _from_comparisons(
    exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun], failing: list[GroupRun]
) -> list[Finding]:
    compared = [run for run in runs if run.group.verify is None]

    @cache
    def behaves_like(mistake_index: int, run_index: int) -> bool:
        return explains(exercise, exercise.mistakes[mistake_index], compared[run_index])

    everywhere = range(len(compared))
    for index, mistake in enumerate(exercise.mistakes):
        if compared and all(behaves_like(index, run) for run in everywhere):
            first = next(run for run in compared if run in failing) if failing else compared[0]
            return [_named(exercise, mistake, first)]

    findings = []
    for run in failing:
        if run.objection is not None and run.objection.sentence:
            continue
        explaining = None
        if run.group.verify is None and run.failing(exercise):
            position = compared.index(run)
            explaining = next(
                (m for i, m in enumerate(exercise.mistakes) if behaves_like(i, position)), None
            )
        findings.append(
            _named(exercise, explaining, run) if explaining else _measured(exercise, reference, run)
        )
    return findings


def explains(exercise: Exercise, mistake: Mistake, run: GroupRun) -> bool:
    """Whether the mistake gives exactly the student's answers in a group of cases."""
    failing = run.failing(exercise)
    if any(run.answers[index].status not in ("value", "raised") for index in range(len(run.answers))):
        return False
    # Exceptions of one type have many causes: where nothing but exceptions speaks, they must read alike.
    only_exceptions = all(run.answers[index].status == "raised" for index in failing)
    for call, answer in zip(run.calls, run.answers, strict=True):
        (theirs,) = answers_of(mistake.answer, [call])
        if not same_answer(answer, theirs, exercise.tolerance):
            return False
        if only_exceptions and answer.message != theirs.message:
            return False
    return True


def _named(exercise: Exercise, mistake: Mistake, run: GroupRun) -> Finding:
    return Finding(mistake.message, mistake.name, _evidence(exercise, run))


def _measured(exercise: Exercise, reference: Callable[..., Any], run: GroupRun) -> Finding:
    wrong = run.failing(exercise) or [0]
    index = wrong[0]
    expected = run.expected[index] if run.expected else Answer("value")
    sentence = measure(exercise, reference, run.cases[index], run.answers[index], expected)
    return Finding(sentence, evidence=_evidence(exercise, run))


def _evidence(exercise: Exercise, run: GroupRun) -> str:
    wrong = run.failing(exercise)
    if not wrong or run.answers[wrong[0]].status != "value":
        return ""
    return evidence_of(exercise, run.cases[wrong[0]], run.answers[wrong[0]])
