"""The judge: asks for answers on fresh inputs, compares them with the reference, says what is wrong.

Nothing here runs student code, and nothing of this is known to the process that does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_lab.grading.answers import Answer, Ask, Reply
from attention_lab.grading.diagnose import diagnose
from attention_lab.grading.exercise import Exercise
from attention_lab.grading.runs import run_group
from attention_lab.grading.verdict import GroupVerdict, Verdict


def judge(exercise: Exercise, reference: Callable[..., Any], ask: Ask, seed: int) -> Verdict:
    """Judge one exercise on inputs drawn from `seed`; `ask` puts calls to the student's kernel."""
    runs, given_up = [], False
    for group in exercise.groups:
        run = run_group(exercise, group, reference, ask if not given_up else _not_asked, seed)
        # One hung or dead answer is waited for; the rest of the exercise is not.
        given_up = given_up or any(answer.status in ("late", "died") for answer in run.answers)
        runs.append(run)
    verdicts = tuple(GroupVerdict(run.group.name, run.group.points, run.agrees) for run in runs)
    findings = diagnose(exercise, reference, runs) if not all(group.agrees for group in verdicts) else ()
    return Verdict(exercise.name, seed, verdicts, tuple(findings))


def _not_asked(_name: str, calls: list[dict[str, Any]], _trace: bool) -> Reply:
    return Reply([Answer("late")] * len(calls))
