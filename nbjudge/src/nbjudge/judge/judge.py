"""Judging an exercise: draw, compare, retest, score and diagnose.

Student code never runs in this process, and the kernel that runs it knows nothing of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.judge.batched_calls import call_groups
from nbjudge.judge.diagnose import diagnose
from nbjudge.judge.drawn_group import DrawnGroup, draw_groups
from nbjudge.judge.group_result import GroupResult, compare_group
from nbjudge.judge.retest import retest
from nbjudge.judge.scoring import fail_one_group, remark_on_changes, score_groups, withheld_findings
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.kernel.protocol import Answer, CallAnswer


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


def judge_exercise(exercise: Exercise, reference: Callable[..., Any], ask: CallAnswer, seed: int) -> Verdict:
    """Judge one exercise on inputs drawn from `seed`.

    Parameters
    ----------
    exercise
        The exercise with its groups and mistakes.
    reference
        The answer of the solution notebook, which runs in this process.
    ask
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
    return judge_groups(exercise, reference, draw_groups(exercise, reference, seed), ask, seed).verdict


def judge_groups(
    exercise: Exercise,
    reference: Callable[..., Any],
    groups: Sequence[DrawnGroup],
    ask: CallAnswer,
    seed: int,
) -> Judgement:
    """Judge one exercise on groups that are drawn already; see `judge_exercise`."""
    answered = call_groups(exercise, groups, ask)
    results = [compare_group(exercise, *pair) for pair in zip(groups, answered, strict=True)]
    results = retest(exercise, results, ask)
    results, scores = fail_one_group(exercise, results, score_groups(results))
    findings = [] if all(score.agrees for score in scores) else _diagnose(exercise, reference, results)
    if not any(finding.mistake for finding in findings):
        findings = [*findings, *remark_on_changes(exercise, reference, results)]
    findings += withheld_findings(scores)
    return Judgement(Verdict(exercise.name, seed, scores, tuple(findings)), tuple(results))


def _diagnose(exercise: Exercise, reference: Callable[..., Any], results: list[GroupResult]) -> list[Finding]:
    """Diagnose, with a fallback: an answer that cannot be described must not cost the whole grade."""
    try:
        return diagnose(exercise, reference, results)
    except Exception:
        return [Finding(f"`{exercise.name}` does not give what the exercise asks for.")]
