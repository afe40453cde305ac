"""The judge: asks for answers on fresh inputs, compares them with the reference, says what is wrong.

Nothing here runs student code, and nothing of this is known to the process that does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_lab.grading.answers import Answer, Ask, Reply
from attention_lab.grading.diagnose import diagnose
from attention_lab.grading.exercise import Exercise
from attention_lab.grading.runs import GroupRun, question, run_group
from attention_lab.grading.verdict import GroupVerdict, Verdict


def judge(exercise: Exercise, reference: Callable[..., Any], ask: Ask, seed: int) -> Verdict:
    """Judge one exercise on inputs drawn from `seed`; `ask` puts calls to the student's kernel."""
    runs: list[GroupRun] = []
    for group in exercise.groups:
        run = run_group(exercise, question(exercise, group, reference, seed), ask)
        runs.append(run)
        # One hung or dead answer is waited for; the rest of the exercise is not asked.
        hopeless = next((answer for answer in run.answers if answer.status in ("late", "died")), None)
        if hopeless is not None:
            ask = _answering(hopeless)
    verdicts = tuple(GroupVerdict(run.group.name, run.group.points, run.agrees) for run in runs)
    findings = diagnose(exercise, reference, runs) if not all(group.agrees for group in verdicts) else ()
    return Verdict(exercise.name, seed, verdicts, tuple(findings))


def _answering(answer: Answer) -> Ask:
    def ask(_name: str, calls: list[dict[str, Any]], _trace: bool) -> Reply:
        return Reply([answer] * len(calls))

    return ask
