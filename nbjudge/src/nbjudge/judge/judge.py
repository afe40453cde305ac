"""The judge: asks for answers on fresh inputs, compares them with the reference, says what is wrong.

Nothing here runs student code, and nothing of this is known to the process that does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.judge.again import asked_again
from nbjudge.judge.batches import ask_all
from nbjudge.judge.changed_arguments import charge_one_group, remark
from nbjudge.judge.diagnose import diagnose
from nbjudge.judge.questions import GroupRun, Question, question, run_of
from nbjudge.judge.scoring import score_groups, withheld_findings
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.kernel.replies import Answer, CallAnswer


@dataclass(frozen=True)
class Examination:
    """A verdict, and what was asked and answered for it."""

    verdict: Verdict
    runs: tuple[GroupRun, ...]

    def without_answers(self) -> Examination:
        """The verdict, which cases are wrong, and no values: all that a tutor keeps.

        Returns
        -------
        Examination
            A copy whose answers have their status only.
        """
        runs = [replace(run, answers=[Answer(each.status) for each in run.answers]) for run in self.runs]
        return replace(self, runs=tuple(runs))


def judge(exercise: Exercise, reference: Callable[..., Any], ask: CallAnswer, seed: int) -> Verdict:
    """Judge one exercise on inputs drawn from `seed`; `ask` puts calls to the student's kernel."""
    return examine(exercise, reference, ask, seed).verdict


def examine(exercise: Exercise, reference: Callable[..., Any], ask: CallAnswer, seed: int) -> Examination:
    """Judge one exercise, for somebody who wants to go on from what was asked."""
    questions = [question(exercise, group, reference, seed) for group in exercise.groups]
    return examine_with(exercise, reference, questions, ask, seed)


def examine_with(
    exercise: Exercise,
    reference: Callable[..., Any],
    questions: Sequence[Question],
    ask: CallAnswer,
    seed: int,
) -> Examination:
    """The same on questions that are there already."""
    answered = ask_all(exercise, questions, ask)
    runs = [run_of(exercise, *pair) for pair in zip(questions, answered, strict=True)]
    runs = asked_again(exercise, runs, ask)
    runs, verdicts = charge_one_group(exercise, runs, score_groups(runs))
    findings = [] if all(group.agrees for group in verdicts) else _diagnosed(exercise, reference, runs)
    if not any(finding.mistake for finding in findings):
        findings = [*findings, *remark(exercise, reference, runs)]
    findings += withheld_findings(verdicts)
    return Examination(Verdict(exercise.name, seed, verdicts, tuple(findings)), tuple(runs))


def _diagnosed(exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun]) -> list[Finding]:
    """The findings; an answer too strange to be described must not cost its author the whole grade."""
    try:
        return diagnose(exercise, reference, runs)
    except Exception:
        return [Finding(f"`{exercise.name}` does not give what the exercise asks for.")]
