"""From wrong answers to the sentence that helps: a named mistake first, a measurement otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbjudge.authoring.exercise import Exercise, Mistake
from nbjudge.judge import wording
from nbjudge.judge.compare import same_answer, same_value
from nbjudge.judge.measure import evidence_of, measure
from nbjudge.judge.questions import GroupRun, verified
from nbjudge.judge.verdict import Finding
from nbjudge.kernel.replies import Answer
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of, owned_values

MOST_FINDINGS = 3


def diagnose(exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun]) -> list[Finding]:
    """The findings of a judgement, the most telling first: forbidden steps, named mistakes, measurements."""
    failing = [run for run in runs if not run.agrees]
    objected = [run for run in failing if run.objection is not None and run.objection.sentence]
    rest = [run for run in failing if run not in objected]
    # What a verifier says gives way to a named mistake behind the same values.
    verified = [run for run in objected if _is_verified(run)]
    behind_all = _behind_all(exercise, runs, [*rest, *verified])
    if behind_all is not None:
        named, unexplained = [_named(exercise, reference, *behind_all)], list[GroupRun]()
    else:
        named, unexplained = _behind_some(exercise, reference, [*rest, *verified])
    unsteady = [] if behind_all is not None else _unsteady(exercise, runs)
    if unsteady:  # then there is nothing to learn from other values
        unexplained = [run for run in unexplained if any(each.status != "value" for each in run.answers)]
        objected = [run for run in objected if run.group.verify is None or run.objection.mistake]  # type: ignore[union-attr]
    objected = [run for run in objected if run not in verified or run in unexplained]
    # Who is wrong on given weights is wrong on weights of their own, too, and for the same reason.
    explained = any(run.wrong and run.question.expected for run in rest)
    compares = any(each.wrong and each.question.expected for each in failing)
    objections = [
        ((run.is_measured and compares) or (run.by_chance and explained), run.objection)
        for run in objected
        if run.objection is not None and not (explained and run.group.fresh and run.objection.mistake is None)
    ]
    measured = [_measured(exercise, reference, run) for run in unexplained if run not in verified]
    findings = sorted(
        [*objections, *((False, finding) for finding in [*named, *measured])],
        key=lambda said: (said[1].mistake != "not_allowed", said[0], said[1].mistake is None),
    )
    sentences = [finding for _, finding in findings]
    known = sum(finding.mistake is not None for last, finding in objections if not last)
    if any(run.is_unsteady and _draws_its_own_weights(run) for run in runs):
        known += len(named)  # a named mistake may be why drawn weights show
    sentences[known:known] = unsteady
    unique = list({finding.sentence: finding for finding in sentences}.values())
    return unique[:MOST_FINDINGS]


def _is_verified(run: GroupRun) -> bool:
    """Whether a verifier objects without naming a mistake, and what it says is not to come last."""
    group, objection = run.group, run.objection
    return group.verify is not None and not run.is_measured and (objection is None or not objection.mistake)


def _draws_its_own_weights(run: GroupRun) -> bool:
    """Whether objects are made without the judge's weights: theirs differ from one call to the next."""
    builds = [call["build"] for call in run.question.calls if call["build"] is not None]
    return any("state" in build and build["state"] is None for build in builds)


def _unsteady(exercise: Exercise, runs: list[GroupRun]) -> list[Finding]:
    """That one call gives two results: before any sentence on the values of one of them."""
    return [
        Finding(
            wording.unsteady(exercise, run.answers[run.wrong[0]].value), evidence=_evidence(exercise, run)
        )
        for run in runs
        if run.is_unsteady
    ]


def _behind_all(
    exercise: Exercise, runs: list[GroupRun], failing: list[GroupRun]
) -> tuple[Mistake, GroupRun] | None:
    """The mistake that gives the student's answers in all groups, and the first group that it loses."""
    compared = [run for run in runs if run.question.expected or (run in failing and _is_verified(run))]
    wrong = [run for run in compared if run in failing]
    for mistake in exercise.mistakes if wrong else ():
        if all(explains(exercise, mistake, run) for run in compared):
            return mistake, wrong[0]
    return None


def _behind_some(
    exercise: Exercise, reference: Callable[..., Any], failing: list[GroupRun]
) -> tuple[list[Finding], list[GroupRun]]:
    """The mistakes that give the answers in some of the groups, and the groups that none explains."""
    findings, unexplained = list[Finding](), list(failing)
    wrong = [run for run in failing if run.question.expected or _is_verified(run)]
    behaves_like = {
        index: [run for run in wrong if explains(exercise, mistake, run)]
        for index, mistake in enumerate(exercise.mistakes)
    }
    while True:
        # The mistake behind the most groups is the likeliest; of equals, the one listed first.
        explained = {
            index: [run for run in like if run in unexplained] for index, like in behaves_like.items()
        }
        best = max(explained, key=lambda index: len(explained[index]), default=None)
        if best is None or not explained[best]:
            return findings, unexplained
        findings.append(_named(exercise, reference, exercise.mistakes[best], explained[best][0]))
        unexplained = [run for run in unexplained if run not in explained[best]]


def explains(exercise: Exercise, mistake: Mistake, run: GroupRun) -> bool:
    """Whether the mistake gives exactly the student's answers in a group of cases.

    In a group with a verifier those answers that it objects to; the others may be right in many ways.
    """
    if any(answer.status not in ("value", "raised") for answer in run.answers):
        return False
    # Exceptions of one type have many causes: where nothing but exceptions speaks, they must read alike.
    only_exceptions = all(run.answers[index].status == "raised" for index in run.wrong)
    for index in range(len(run.answers)) if run.question.expected else run.wrong:
        answer, theirs = run.answers[index], run.question.mistaken(mistake, index)
        if not same_answer(answer, theirs, exercise.tolerance):
            return False
        if only_exceptions and answer.message != theirs.message:
            return False
        # An answer may change its arguments besides, unless that is all that is wrong with the group.
        if answer.changed != theirs.changed and (theirs.changed or not run.wrong_values):
            return False
    return bool(run.question.expected) or _is_objected_to(mistake, run)


def _is_objected_to(mistake: Mistake, run: GroupRun) -> bool:
    """Whether a verifier objects to the mistake as well, and not only within the tolerance of others."""
    theirs = [run.question.mistaken(mistake, index) for index in range(len(run.answers))]
    if any(answer.status != "value" for answer in theirs):
        return True
    return verified(run.group, run.question.cases, [answer.value for answer in theirs]) is not None


def _named(exercise: Exercise, reference: Callable[..., Any], mistake: Mistake, run: GroupRun) -> Finding:
    measured = _measurement(exercise, reference, run)
    return Finding(mistake.message, mistake.name, _evidence(exercise, run) + _cost(exercise, run), measured)


def _measured(exercise: Exercise, reference: Callable[..., Any], run: GroupRun) -> Finding:
    return Finding(_measurement(exercise, reference, run), evidence=_evidence(exercise, run))


def _measurement(exercise: Exercise, reference: Callable[..., Any], run: GroupRun) -> str:
    if run.objection is not None and run.objection.sentence:
        return run.objection.sentence
    if _always_the_same(exercise, run):
        return wording.always_the_same(exercise, len(run.answers))
    if not run.question.expected:  # then nothing is compared: what there is to say is why a value is missing
        index = next((n for n, answer in enumerate(run.answers) if answer.status != "value"), 0)
        return measure(exercise, reference, run.question.cases[index], run.answers[index], Answer("value"))
    index = run.wrong[0] if run.wrong else 0
    expected = run.question.expected[index]
    measured = measure(exercise, reference, run.question.cases[index], run.answers[index], expected)
    return f"{measured}{_cost(exercise, run)}"


def _cost(exercise: Exercise, run: GroupRun) -> str:
    """What to say behind a sentence on changed arguments that cost one group."""
    one_group = run.is_charged and exercise.changed_arguments == "one group"
    return f" {wording.COSTS_ONE_GROUP.format(run.group.name)}" if one_group else ""


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
