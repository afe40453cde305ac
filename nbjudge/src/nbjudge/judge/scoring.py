"""Judge an exercise and score it: draw, compare, retest, score and diagnose.

Student code never runs in this process, and the kernel that runs it knows nothing of this module.

The scoring rule, `withheld_because`, decides which case groups earn their points. Some groups can pass
without any work, for example one that only checks that a bad shape raises `ValueError`. Their points are
withheld until a group passes whose expected values must be computed (`drawn_group.requires_computation`).
An answer that changes its arguments may cost a group, see `Exercise.changed_arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer, AnswerCaller
from nbjudge.judge.describe import listed, receiver
from nbjudge.judge.diagnose import diagnose
from nbjudge.judge.drawn_group import DrawnGroup, call_groups, draw_groups
from nbjudge.judge.findings import Cause, changed_arguments
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
    """Judge one exercise on inputs drawn from `seed`: the points of each group, and the findings.

    `reference`, the answer of the solution notebook, runs in this process; `call_answer` calls the student's
    in its kernel. Raises CourseError if the checks are broken, for example if the reference cannot answer a
    case.
    """
    return judge_groups(exercise, draw_groups(exercise, reference, seed), call_answer, seed).verdict


def judge_groups(
    exercise: Exercise, groups: Sequence[DrawnGroup], call_answer: AnswerCaller, seed: int
) -> Judgement:
    """Judge one exercise on groups that are drawn already; see `judge_exercise`."""
    answered = call_groups(exercise, [group.calls for group in groups], call_answer)
    results = [compare_group(exercise, *pair) for pair in zip(groups, answered, strict=True)]
    results = retest(exercise, results, call_answer)
    reasons = [withheld_because(result, results) for result in results]
    results = fail_one_group(exercise, results, reasons)
    scores = tuple(
        GroupVerdict(
            result.group.name, result.group.points, result.passed and not why, why.says() if why else ""
        )
        for result, why in zip(results, reasons, strict=True)
    )
    try:
        findings = [] if all(score.is_earned for score in scores) else diagnose(exercise, results)
    except Exception:  # an answer that cannot be described must not cost the whole grade
        findings = [Cause.UNDESCRIBED.found(name=exercise.name)]
    if not any(finding.mistake for finding in findings):
        findings += remark_on_changes(exercise, results)
    for reason in (Cause.WITHHELD_UNTIL_ONE, Cause.WITHHELD_UNTIL_ALL):
        names = [f"“{score.name}”" for score, why in zip(scores, reasons, strict=True) if why is reason]
        if names:
            findings.append(Cause.WITHHELD.found(groups=listed(names), reason=reason.says()))
    return Judgement(Verdict(exercise.name, seed, scores, tuple(findings)), tuple(results))


def withheld_because(result: GroupResult, results: Sequence[GroupResult]) -> Cause | None:
    """Return why a group that passes earns no points; None if it earns them, or fails."""
    computed = [other for other in results if other.drawn.requires_computation] or [
        other for other in results if not other.only_raises and not other.group.withhold_points
    ]
    if not result.passed or result in computed:
        return None
    if not any(other.passed for other in computed):
        return Cause.WITHHELD_UNTIL_ONE
    if not all(other.passed for other in computed) and result.weights_too_small:
        return Cause.WITHHELD_UNTIL_ALL
    return None


def fail_one_group(
    exercise: Exercise, results: Sequence[GroupResult], reasons: Sequence[Cause | None]
) -> list[GroupResult]:
    """Fail one group if the setting is "one group" and arguments are changed.

    It is the first one that would earn its points and changes an argument, in the retest or before.
    """
    results = list(results)
    for index, (result, reason) in enumerate(zip(results, reasons, strict=True)):
        in_retest = result.change_in_retest
        changes = bool(result.changed_cases) or in_retest is not None
        if exercise.changed_arguments == "one group" and result.passed and reason is None and changes:
            objection = None if result.changed_cases else in_retest
            results[index] = replace(result, fails_for_changes=True, objection=objection)
            break
    return results


def remark_on_changes(exercise: Exercise, results: Sequence[GroupResult]) -> list[Finding]:
    """Return a finding on changed arguments that cost no group; none if a group failed for them."""
    if any(result.fails_for_changes for result in results):
        return []
    costs = "" if exercise.changed_arguments == "one group" else Cause.COSTS_NOTHING.says()
    for result in results:
        if result.changed_cases:
            index = result.changed_cases[0]
            function = receiver(result.drawn.reference, result.drawn.cases[index])
            found = changed_arguments(exercise, function, result.answers[index].changed)
            return [found.followed_by(costs)]
    in_retest = (result.change_in_retest for result in results if result.change_in_retest is not None)
    return [finding.followed_by(costs) for finding in in_retest][:1]
