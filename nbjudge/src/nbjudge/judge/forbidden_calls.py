"""Whether an answer ran a forbidden call, such as a ready-made mean, see `nbjudge.authoring.Step`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from nbjudge.authoring.exercise import Exercise, Step
from nbjudge.judge.verdict import FORBIDDEN, Finding
from nbjudge.kernel.protocol import Answer
from nbjudge.probe.compiled import FOREIGN_CODE
from nbjudge.probe.recording import ANOTHER_PROCESS, COMPILED

UNSEEN = {
    ANOTHER_PROCESS: "hands its work to another process, whose steps cannot be seen: compute it here.",
    FOREIGN_CODE: "calls compiled code through `ctypes`, whose steps cannot be seen: compute it in Python.",
}


def find_forbidden_call(exercise: Exercise, answers: Sequence[Answer]) -> Finding | None:
    """Return a finding if an answer ran a forbidden call, or computed where calls cannot be seen."""
    ran = frozenset[str]().union(*(answer.ran for answer in answers))
    forbidden = forbidden_step(exercise.not_allowed, ran)
    if forbidden is not None:
        step, name = forbidden
        return Finding(
            f"`{exercise.name}` runs {step.called} (`{name}`), and this is the step you are asked to write.",
            mistake=FORBIDDEN,
        )
    unseen = unseen_work(exercise.not_allowed, ran)
    return Finding(f"`{exercise.name}` {unseen}", mistake=FORBIDDEN) if unseen is not None else None


def forbidden_step(steps: Collection[Step], ran: Collection[str]) -> tuple[Step, str] | None:
    """Return the first of the forbidden steps that ran, and the call as the student may have written it."""
    for step in steps:
        for pattern in step.patterns():
            for name in sorted(ran):
                if fnmatchcase(name, pattern):
                    return step, step.as_written(name).removeprefix(COMPILED)
    return None


def unseen_work(steps: Collection[Step], ran: Collection[str]) -> str | None:
    """Return the end of a sentence if an answer computed where calls cannot be seen; None without `steps`."""
    return next((sentence for name, sentence in UNSEEN.items() if steps and name in ran), None)
