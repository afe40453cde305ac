"""Whether an answer ran a step that its students are to write themselves, see `nbjudge.authoring.Step`."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from nbjudge.authoring.steps import Step
from nbjudge.probe.compiled import FOREIGN_CODE
from nbjudge.probe.recording import ANOTHER_PROCESS, COMPILED

UNSEEN = {
    ANOTHER_PROCESS: "hands its work to another process, whose steps cannot be seen: compute it here.",
    FOREIGN_CODE: "calls compiled code through `ctypes`, whose steps cannot be seen: compute it in Python.",
}


def forbidden_step(not_allowed: Collection[Step], ran: Collection[str]) -> tuple[Step, str] | None:
    """The first step that ran although it is not allowed, with the call or the name that gave it away."""
    for step in not_allowed:
        for pattern in step.patterns():
            for name in sorted(ran):
                if fnmatchcase(name, pattern):
                    return step, step.as_written(name).removeprefix(COMPILED)
    return None


def went_elsewhere(not_allowed: Collection[Step], ran: Collection[str]) -> str | None:
    """What an answer did where its steps cannot be seen, as the rest of a sentence."""
    places = UNSEEN.items() if not_allowed else ()
    return next((sentence for name, sentence in places if name in ran), None)
