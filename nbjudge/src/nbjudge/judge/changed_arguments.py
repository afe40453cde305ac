"""What it costs that an answer changes its arguments, see `Exercise.changed_arguments`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.judge import wording
from nbjudge.judge.arguments import receiver
from nbjudge.judge.questions import GroupRun
from nbjudge.judge.verdict import Finding, GroupVerdict


def charge_one_group(
    exercise: Exercise, runs: Sequence[GroupRun], verdicts: Sequence[GroupVerdict]
) -> tuple[list[GroupRun], tuple[GroupVerdict, ...]]:
    """Take the points of one group where changed arguments cost one.

    Parameters
    ----------
    exercise
        The exercise with its setting.
    runs, verdicts
        One of each per group, in the order of the exercise.

    Returns
    -------
    tuple
        The same runs and verdicts. With the setting "one group" the first group is lost that would get its
        points and shows a changed argument, be it only when it is called once more.
    """
    runs, verdicts = list(runs), list(verdicts)
    if exercise.changed_arguments == "one group":
        for index, (run, verdict) in enumerate(zip(runs, verdicts, strict=True)):
            if verdict.agrees and (run.changes or run.late_change is not None):
                runs[index] = replace(
                    run, is_charged=True, objection=None if run.changes else _with_cost(run.late_change, run)
                )
                verdicts[index] = replace(verdict, agrees=False)
                break
    return runs, tuple(verdicts)


def remark(exercise: Exercise, reference: Callable[..., Any], runs: Sequence[GroupRun]) -> list[Finding]:
    """The finding on arguments that are changed and cost no group; none where one is lost for it."""
    if any(run.is_charged for run in runs):
        return []
    costs = "" if exercise.changed_arguments == "one group" else f" {wording.COSTS_NOTHING}"
    for run in runs:
        if run.changes:
            case, changed = run.question.cases[run.changes[0]], run.answers[run.changes[0]].changed
            sentence = wording.changed_arguments(exercise, receiver(reference, case), changed)
            return [Finding(sentence + costs)]
    late = (run.late_change.sentence for run in runs if run.late_change is not None)
    return [Finding(sentence + costs) for sentence in late][:1]


def _with_cost(finding: Finding | None, run: GroupRun) -> Finding | None:
    if finding is None:
        return None
    return Finding(f"{finding.sentence} {wording.COSTS_ONE_GROUP.format(run.group.name)}")
