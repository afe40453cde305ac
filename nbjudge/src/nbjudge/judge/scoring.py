"""Judge an exercise and score it: draw, compare, retest, score and diagnose.

Student code never runs in this process, and the kernel that runs it knows nothing of this module.

The scoring rule, `score_groups`, decides which case groups earn their points. Some groups can pass without
any work, for example one that only checks that a bad shape raises `ValueError`. Their points are withheld
until a group passes whose expected values must be computed (`drawn_group.requires_computation`). An answer
that changes its arguments may cost a group, see `Exercise.changed_arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer, AnswerCaller
from nbjudge.judge import describe, messages
from nbjudge.judge.describe import receiver
from nbjudge.judge.diagnose import diagnose
from nbjudge.judge.drawn_group import DrawnGroup, call_groups, draw_groups
from nbjudge.judge.group_result import GroupResult, compare_group
from nbjudge.judge.retest import retest
from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the results of the groups behind it."""

    verdict: Verdict
    results: tuple[GroupResult, ...]

    def without_answers(self) -> Judgement:
        """Return a copy whose answers have only their status, which is all that a tutor keeps."""
        results = [
            replace(result, answers=[Answer(answer.status) for answer in result.answers])
            for result in self.results
        ]
        return replace(self, results=tuple(results))


def judge_exercise(
    exercise: Exercise, reference: Callable[..., Any], call_answer: AnswerCaller, seed: int
) -> Verdict:
    """Judge one exercise on inputs drawn from `seed`.

    Parameters
    ----------
    exercise
        The exercise with its groups and mistakes.
    reference
        The answer of the solution notebook, which runs in this process.
    call_answer
        Makes calls of the student's answer, in the student's kernel.
    seed
        The same seed draws the same inputs.

    Returns
    -------
    Verdict
        The points of each group and the findings.

    Raises
    ------
    CourseError
        If the checks are broken, for example if the reference cannot answer a case.
    """
    return judge_groups(exercise, draw_groups(exercise, reference, seed), call_answer, seed).verdict


def judge_groups(
    exercise: Exercise, groups: Sequence[DrawnGroup], call_answer: AnswerCaller, seed: int
) -> Judgement:
    """Judge one exercise on groups that are drawn already; see `judge_exercise`."""
    answered = call_groups(exercise, [group.calls for group in groups], call_answer)
    results = [compare_group(exercise, *pair) for pair in zip(groups, answered, strict=True)]
    results = retest(exercise, results, call_answer)
    results, scores = fail_one_group(exercise, results, score_groups(results))
    findings = [] if all(score.is_earned for score in scores) else _diagnose(exercise, results)
    if not any(finding.mistake for finding in findings):
        findings = [*findings, *remark_on_changes(exercise, results)]
    findings += withheld_findings(scores)
    return Judgement(Verdict(exercise.name, seed, scores, tuple(findings)), tuple(results))


def _diagnose(exercise: Exercise, results: list[GroupResult]) -> list[Finding]:
    """Diagnose, with a fallback: an answer that cannot be described must not cost the whole grade."""
    try:
        return diagnose(exercise, results)
    except Exception:
        return [Finding(f"`{exercise.name}` does not give what the exercise asks for.")]


WITHHELD_UNTIL_ONE = "these points count once at least one group passes whose values must be computed"
WITHHELD_UNTIL_ALL = (
    "the weights it draws are almost zero, so wrong formulas pass as well: "
    "these points count once all groups pass whose values must be computed"
)


def score_groups(results: Sequence[GroupResult]) -> tuple[GroupVerdict, ...]:
    """Decide which groups earn their points.

    Parameters
    ----------
    results
        One result per group, in the order of the exercise.

    Returns
    -------
    tuple of GroupVerdict
        In the same order. A group whose points are withheld did not earn them; its `note` holds the reason
        as a sentence for the student.
    """
    computed = [result for result in results if result.drawn.requires_computation]
    computed = computed or [
        result for result in results if not result.only_raises and not result.group.withhold_points
    ]
    any_passed = any(result.passed for result in computed)
    all_passed = all(result.passed for result in computed)
    scores = []
    for result in results:
        withheld = ""
        if result.passed and result not in computed:
            if not any_passed:
                withheld = WITHHELD_UNTIL_ONE
            elif not all_passed and result.weights_too_small:
                withheld = WITHHELD_UNTIL_ALL
        earned = result.passed and not withheld
        scores.append(GroupVerdict(result.group.name, result.group.points, earned, withheld))
    return tuple(scores)


def withheld_findings(scores: Sequence[GroupVerdict]) -> list[Finding]:
    """Say which groups pass and have their points withheld, and why."""
    findings = []
    for reason in (WITHHELD_UNTIL_ONE, WITHHELD_UNTIL_ALL):
        names = [f"“{score.name}”" for score in scores if score.note == reason]
        if names:
            findings.append(Finding(f"Right so far: {describe.listed(names)}; {reason}."))
    return findings


def fail_one_group(
    exercise: Exercise, results: Sequence[GroupResult], scores: Sequence[GroupVerdict]
) -> tuple[list[GroupResult], tuple[GroupVerdict, ...]]:
    """Fail one group if the setting is "one group" and arguments are changed.

    Parameters
    ----------
    exercise
        The exercise with its setting.
    results, scores
        One of each per group, in the order of the exercise.

    Returns
    -------
    tuple
        The results and scores. With the setting "one group" the first group fails that would earn its
        points and changes an argument, in the retest or before.
    """
    results, scores = list(results), list(scores)
    if exercise.changed_arguments == "one group":
        for index, (result, score) in enumerate(zip(results, scores, strict=True)):
            in_retest = result.change_in_retest
            if score.is_earned and (result.changed_cases or in_retest is not None):
                objection = None
                if in_retest is not None and not result.changed_cases:
                    cost = messages.COSTS_ONE_GROUP.format(result.group.name)
                    objection = Finding(f"{in_retest.sentence} {cost}")
                results[index] = replace(result, fails_for_changes=True, objection=objection)
                scores[index] = replace(score, is_earned=False)
                break
    return results, tuple(scores)


def remark_on_changes(exercise: Exercise, results: Sequence[GroupResult]) -> list[Finding]:
    """Return a finding on changed arguments that cost no group; none if a group failed for them."""
    if any(result.fails_for_changes for result in results):
        return []
    costs = "" if exercise.changed_arguments == "one group" else f" {messages.COSTS_NOTHING}"
    for result in results:
        if result.changed_cases:
            index = result.changed_cases[0]
            function = receiver(result.drawn.reference, result.drawn.cases[index])
            sentence = messages.changed_arguments(exercise, function, result.answers[index].changed)
            return [Finding(sentence + costs)]
    in_retest = (result.change_in_retest for result in results if result.change_in_retest is not None)
    return [Finding(finding.sentence + costs) for finding in in_retest][:1]
