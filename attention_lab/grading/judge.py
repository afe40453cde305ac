"""The judge: asks for answers on fresh inputs, compares them with the reference, says what is wrong.

Nothing here runs student code, and nothing of this is known to the process that does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attention_lab.grading.answers import Ask
from attention_lab.grading.asking import ask_all
from attention_lab.grading.diagnose import diagnose
from attention_lab.grading.exercise import Exercise
from attention_lab.grading.runs import GroupRun, question, run_of
from attention_lab.grading.verdict import Finding, GroupVerdict, Verdict


def judge(exercise: Exercise, reference: Callable[..., Any], ask: Ask, seed: int) -> Verdict:
    """Judge one exercise on inputs drawn from `seed`; `ask` puts calls to the student's kernel."""
    questions = [question(exercise, group, reference, seed) for group in exercise.groups]
    answered = ask_all(exercise, questions, ask)
    runs = [run_of(exercise, *pair) for pair in zip(questions, answered, strict=True)]
    works = any(answer.status == "value" for run in runs for answer in run.answers)
    verdicts = tuple(
        # Who refuses whatever is asked has not shown that they know what to refuse.
        GroupVerdict(run.group.name, run.group.points, run.agrees and (works or not run.only_refuses))
        for run in runs
    )
    findings = () if all(group.agrees for group in verdicts) else _diagnosed(exercise, reference, runs)
    return Verdict(exercise.name, seed, verdicts, tuple(findings))


def _diagnosed(exercise: Exercise, reference: Callable[..., Any], runs: list[GroupRun]) -> Sequence[Finding]:
    """The findings; an answer too strange to be described must not cost its author the whole grade."""
    try:
        return diagnose(exercise, reference, runs)
    except Exception:
        return [Finding(f"`{exercise.name}` does not give what the exercise asks for.")]
