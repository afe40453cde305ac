"""Ready-made steps that an exercise asks students to write themselves.

What counts is what runs while the exercise is called, not how it is spelt: every alias, method and
relative of a step comes down to a function that is named here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Step:
    """A step that is not allowed: ``Step("a ready-made mean", {"numpy._core._methods": ("_mean",)})``.

    `called` is how a message calls it. `functions` holds qualified names of functions written in Python,
    by their module; NumPy's methods end in `numpy._core._methods`. `also` are other steps that give it
    away, and `noted_as` patterns (as in file names) of whatever else is noted.
    """

    called: str
    functions: Names = field(default_factory=dict)
    also: tuple[Step, ...] = ()
    noted_as: tuple[str, ...] = ()

    def watch(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """What has to be watched for it, see `nbjudge.ask.program.watching`."""
        return together([{"functions": dict(self.functions)}, *(step.watch() for step in self.also)])

    def patterns(self) -> tuple[str, ...]:
        """Patterns of the names that give it away."""
        own = tuple(f"{module}.{name}" for module, names in self.functions.items() for name in names)
        return (*own, *self.noted_as, *(pattern for step in self.also for pattern in step.patterns()))


def together(watches: Iterable[Mapping[str, Names]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """All that several steps have watched."""
    merged: dict[str, dict[str, tuple[str, ...]]] = {}
    for watch in watches:
        for kind, entries in watch.items():
            for name, values in entries.items():
                known = merged.setdefault(kind, {}).get(name, ())
                merged[kind][name] = tuple(dict.fromkeys((*known, *values)))
    return merged
