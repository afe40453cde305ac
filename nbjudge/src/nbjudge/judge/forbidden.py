"""Ready-made steps that an exercise asks students to write themselves.

What counts is what ran when the exercise was called (see `recording.Recording`), not how it was
spelt: every alias, method, module and relative of a step comes down to one of the names in `ready_made`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from nbjudge.ask.program.ready_made import ANOTHER_PROCESS, BACKWARD_PASS, COMPILED, FUNCTIONS, OPERATORS


@dataclass(frozen=True)
class Step:
    """A step as the message calls it, and the patterns of the names that give it away."""

    called: str
    patterns: tuple[str, ...]


def _names_of(family: str) -> tuple[str, ...]:
    functions = [f"{module}.{name}" for module, names in FUNCTIONS[family].items() for name in names]
    return (*OPERATORS[family], *functions)


_FUSED_ATTENTION = (*_names_of("fused_attention"), f"{COMPILED}*attention*")

STEPS = {
    "softmax": Step(
        "a ready-made softmax",
        (*_names_of("softmax"), f"{COMPILED}*softmax*", f"{COMPILED}*log*sumexp*", *_FUSED_ATTENTION),
    ),
    "fused_attention": Step("torch's ready-made attention", _FUSED_ATTENTION),
    "building_layers": Step("a layer's own constructor", _names_of("building_layers")),
    "automatic_differentiation": Step(
        "automatic differentiation", (*_names_of("automatic_differentiation"), BACKWARD_PASS)
    ),
}


def forbidden_step(not_allowed: Collection[str], ran: Collection[str]) -> tuple[Step, str] | None:
    """The first step that ran although it is not allowed, with the name that gave it away."""
    for family in not_allowed:
        for pattern in STEPS[family].patterns:
            for name in sorted(ran):
                if fnmatchcase(name, pattern):
                    return STEPS[family], name.removeprefix(COMPILED)
    return None


def went_elsewhere(not_allowed: Collection[str], ran: Collection[str]) -> bool:
    """Whether another process took part, where nobody can see what it ran."""
    return bool(not_allowed) and ANOTHER_PROCESS in ran
