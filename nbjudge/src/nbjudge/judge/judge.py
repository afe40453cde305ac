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
from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.kernel.replies import Answer, Ask
from nbjudge.values import describe

BESIDE_ANOTHER = "this counts when a group agrees, too, whose results have to be worked out"
BESIDE_ALL = (
    "the weights it draws are as good as zero, and on these wrong formulas agree as well: "
    "this counts when all groups agree whose results have to be worked out"
)


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


def judge(exercise: Exercise, reference: Callable[..., Any], ask: Ask, seed: int) -> Verdict:
    """Judge one exercise on inputs drawn from `seed`; `ask` puts calls to the student's kernel."""
    return examine(exercise, reference, ask, seed).verdict


def examine(exercise: Exercise, reference: Callable[..., Any], ask: Ask, seed: int) -> Examination:
    """Judge one exercise, for somebody who wants to go on from what was asked."""
    questions = [question(exercise, group, reference, seed) for group in exercise.groups]
    return examine_with(exercise, reference, questions, ask, seed)


def examine_with(
    exercise: Exercise, reference: Callable[..., Any], questions: Sequence[Question], ask: Ask, seed: int
) -> Examination:
    """The same on questions that are there already."""
    answered = ask_all(exercise, questions, ask)
    runs = [run_of(exercise, *pair) for pair in zip(questions, answered, strict=True)]
    runs = asked_again(exercise, runs, ask)
    runs, verdicts = charge_one_group(exercise, runs, _counted(runs))
    findings = [] if all(group.agrees for group in verdicts) else _diagnosed(exercise, reference, runs)
    if not any(finding.mistake for finding in findings):
        findings = [*findings, *remark(exercise, reference, runs)]
    findings += _waiting(verdicts)
    return Examination(Verdict(exercise.name, seed, verdicts, tuple(findings)), tuple(runs))


def _counted(runs: Sequence[GroupRun]) -> tuple[GroupVerdict, ...]:
    """Which groups count: no point without work.

    What is right without any of it (to refuse whatever is asked, to have the right attributes) counts
    beside a group that is not.
    """
    requiring_work = [run for run in runs if run.question.requires_work] or [
        run for run in runs if not run.only_refuses
    ]
    some, every = any(run.agrees for run in requiring_work), all(run.agrees for run in requiring_work)
    verdicts = []
    for run in runs:
        note = ""
        if run.agrees and run not in requiring_work:
            note = "" if some else BESIDE_ANOTHER
            if some and not every and run.says_nothing:
                note = BESIDE_ALL
        verdicts.append(GroupVerdict(run.group.name, run.group.points, run.agrees and not note, note))
    return tuple(verdicts)


def _waiting(verdicts: Sequence[GroupVerdict]) -> list[Finding]:
    """A finding for the groups that agree and do not count yet."""
    findings = []
    for note in (BESIDE_ANOTHER, BESIDE_ALL):
        names = [f"“{group.name}”" for group in verdicts if group.note == note]
        if names:
            findings.append(Finding(f"Right so far: {describe.listed(names)}; {note}."))
    return findings


def _diagnosed(exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun]) -> list[Finding]:
    """The findings; an answer too strange to be described must not cost its author the whole grade."""
    try:
        return diagnose(exercise, reference, runs)
    except Exception:
        return [Finding(f"`{exercise.name}` does not give what the exercise asks for.")]
