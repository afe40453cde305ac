"""Ready-made steps that an exercise asks students to write themselves.

What counts is what runs while the exercise is called, not how it is spelt: every alias, method and
relative of a step comes down to a function that is named here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Step:
    """A step that is not allowed: ``Step("a ready-made mean", {"numpy._core._methods": ("_mean",)})``.

    `called` is how a message calls it. `functions` holds qualified names of functions written in Python,
    by their module; NumPy's methods end in `numpy._core._methods`. `compiled` holds compiled classes by their
    module, each of whose methods gives it away, and `ufuncs` NumPy's ufuncs that may not reduce numbers.
    `also` are other steps that give it away, and `noted_as` patterns (as in file names) of whatever else is
    noted. `written_as` says by what call people come to it, for names that users do not write:
    ``{"numpy._core._methods._std": "np.std"}``.
    """

    called: str
    functions: Names = field(default_factory=dict)
    compiled: Names = field(default_factory=dict)
    ufuncs: Names = field(default_factory=dict)
    also: tuple[Step, ...] = ()
    noted_as: tuple[str, ...] = ()
    written_as: Mapping[str, str] = field(default_factory=dict)

    def watch(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """What has to be watched for it, see `nbjudge.probe.watching`."""
        own = {"functions": self.functions, "compiled": self.compiled, "ufuncs": self.ufuncs}
        return merge_watches([own, *(step.watch() for step in self.also)])

    def patterns(self) -> tuple[str, ...]:
        """Patterns of the names that give it away; first those of steps that hold it, which say more."""
        return (*(pattern for step in self.also for pattern in step.patterns()), *self._own_patterns())

    def _own_patterns(self) -> tuple[str, ...]:
        reductions = (f"{name}.reduce" for name in _full_names(self.ufuncs))
        return (*_full_names(self.functions), *_full_names(self.compiled), *reductions, *self.noted_as)

    def as_written(self, name: str) -> str:
        """The call behind a name that gave the step away, where `written_as` lists it."""
        for pattern, call in self.written_as.items():
            if fnmatchcase(name, pattern):
                return call
        others = (step.as_written(name) for step in self.also)
        return next((call for call in others if call != name), name)


def _full_names(names: Names) -> list[str]:
    return [f"{module}.{name}" for module, entries in names.items() for name in entries]


def merge_watches(watches: Iterable[Mapping[str, Names]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """All that several steps have watched."""
    merged: dict[str, dict[str, tuple[str, ...]]] = {}
    for watch in watches:
        for kind, entries in watch.items():
            for name, values in entries.items():
                known = merged.setdefault(kind, {}).get(name, ())
                merged[kind][name] = tuple(dict.fromkeys((*known, *values)))
    return merged
