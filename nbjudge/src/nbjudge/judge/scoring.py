"""The scoring rule: which case groups of an exercise earn their points.

Some groups can pass without any work, for example one that only checks that a bad shape raises `ValueError`.
Their points are withheld until a group passes whose expected values must be computed
(`nbjudge.judge.computed_values`).

An answer that changes its arguments may cost a group, see `Exercise.changed_arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.judge import messages
from nbjudge.judge.argument_names import receiver
from nbjudge.judge.group_result import GroupResult
from nbjudge.judge.verdict import Finding, GroupVerdict
from nbjudge.values import describe

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
            if score.agrees and (result.changed_cases or in_retest is not None):
                objection = None
                if in_retest is not None and not result.changed_cases:
                    cost = messages.COSTS_ONE_GROUP.format(result.group.name)
                    objection = Finding(f"{in_retest.sentence} {cost}")
                results[index] = replace(result, fails_for_changes=True, objection=objection)
                scores[index] = replace(score, agrees=False)
                break
    return results, tuple(scores)


def remark_on_changes(
    exercise: Exercise, reference: Callable[..., Any], results: Sequence[GroupResult]
) -> list[Finding]:
    """Return a finding on changed arguments that cost no group; none if a group failed for them."""
    if any(result.fails_for_changes for result in results):
        return []
    costs = "" if exercise.changed_arguments == "one group" else f" {messages.COSTS_NOTHING}"
    for result in results:
        if result.changed_cases:
            index = result.changed_cases[0]
            function = receiver(reference, result.drawn.cases[index])
            sentence = messages.changed_arguments(exercise, function, result.answers[index].changed)
            return [Finding(sentence + costs)]
    in_retest = (result.change_in_retest for result in results if result.change_in_retest is not None)
    return [Finding(finding.sentence + costs) for finding in in_retest][:1]
