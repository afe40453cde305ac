"""What arguments are called: by the answer, or by the judge's code that stands before it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbjudge.ask.program import respond
from nbjudge.authoring.case import Case


def receiver(reference: Callable[..., Any], case: Case) -> Callable[..., Any]:
    """Whose parameters a case's arguments are: what stands between, where it has some of its own."""
    if case.through is None:
        return reference
    between = respond.make(case.through)(reference)
    parameters = inspect.signature(between).parameters.values()
    own = all(each.kind is not inspect.Parameter.VAR_POSITIONAL for each in parameters)
    return between if own else reference


def argument_names(function: Callable[..., Any]) -> list[str]:
    """The parameters of a function, or of a module's `forward`."""
    if inspect.isclass(function):
        return list(inspect.signature(function.forward).parameters)[1:]  # type: ignore[attr-defined]
    return list(inspect.signature(function).parameters)


def argument_name(function: Callable[..., Any], path: str) -> str:
    """The parameter behind a path of the protocol, such as "/args/0" or "/kwargs/axis"."""
    parts, names = path.split("/"), argument_names(function)
    if len(parts) < 3:
        return path  # nothing that the protocol knows
    if parts[1] == "args" and parts[2].isdecimal() and int(parts[2]) < len(names):
        return names[int(parts[2])]
    return parts[2]
