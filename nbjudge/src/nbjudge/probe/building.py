"""How an object is made of an answer that is a class, and how it shows what it is made of.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# What is looked at without calling a method: what a call returns, and how the object is made.
RESULTS = ("result", "result again")
SIDES = (*RESULTS, "parameters", "buffers", "buffer values", "state", "attributes")
MOST_NAMES = 4  # of parameters, in a message


class WrongParametersError(Exception):
    """The module's parameters do not fit the weights that the judge sent."""

    def __init__(self, own: dict[str, Any], sent: dict[str, Any]) -> None:
        missing = [name for name in sent if name not in own]
        extra = [name for name in own if name not in sent]
        shapes = [
            f"{name} {own[name]} instead of {sent[name]}"
            for name in sent
            if own.get(name, sent[name]) != sent[name]
        ]
        parts = (("missing", missing), ("too many", extra), ("of another shape", shapes))
        super().__init__("; ".join(f"{what}: {_some_names(names)}" for what, names in parts if names))


def _some_names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


class Builder:
    """Plain objects. Another library's (torch's modules) have a builder of their own."""

    def make(self, answer: Callable[..., Any], build: dict[str, Any], args: Any, kwargs: Any) -> Any:
        """The object, as `nbjudge.authoring.build` describes it."""
        return answer(*args, **kwargs)

    def modes(self, build: dict[str, Any]) -> list[dict[str, Any]]:
        """How else to make the object for the same results: once more in each mode that it has."""
        return [build]

    def call_before(self, instance: Any, build: dict[str, Any], args: Any, kwargs: Any) -> None:
        """A call whose result is not used: what an object keeps of it shows in the next one."""
        instance(*args, **kwargs)

    def parameters(self, instance: Any) -> dict[str, Any]:
        """Of the object, what gradients are asked for beside those of the arguments."""
        return {}

    def side(self, instance: Any, name: str) -> Any:
        """How the object is made: one of `SIDES` that is no result."""
        if name == "attributes":
            return {key: type(value).__name__ for key, value in sorted(vars(instance).items())}
        raise ValueError(f"a {type(instance).__name__} has no {name}")


# By the name that `Build.builder` holds.
BUILDERS: dict[str, Builder] = {"object": Builder()}
