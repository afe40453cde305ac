"""What an answer loses for changing its arguments, see `Exercise.changed_arguments`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.judge import messages
from nbjudge.judge.argument_names import receiver
from nbjudge.judge.group_result import GroupResult
from nbjudge.judge.verdict import Finding, GroupVerdict


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
