"""Whether an answer ran a step that its students are to write themselves, see `nbjudge.authoring.Step`."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from nbjudge.ask.program.recording import ANOTHER_PROCESS, COMPILED
from nbjudge.authoring.steps import Step


def forbidden_step(not_allowed: Collection[Step], ran: Collection[str]) -> tuple[Step, str] | None:
    """The first step that ran although it is not allowed, with the call or the name that gave it away."""
    for step in not_allowed:
        for pattern in step.patterns():
            for name in sorted(ran):
                if fnmatchcase(name, pattern):
                    return step, step.as_written(name).removeprefix(COMPILED)
    return None


def went_elsewhere(not_allowed: Collection[Step], ran: Collection[str]) -> bool:
    """Whether another process took part, where nobody can see what it ran."""
    return bool(not_allowed) and ANOTHER_PROCESS in ran
