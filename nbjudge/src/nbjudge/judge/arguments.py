"""What arguments are called: by the answer, or by the judge's code that stands before it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nbjudge.authoring.case import Case
from nbjudge.probe import respond
from nbjudge.values.packing import MadeInKernel


def receiver(reference: Callable[..., Any], case: Case) -> Callable[..., Any]:
    """Whose parameters a case's arguments are: what stands between, where it has some of its own."""
    if case.through is None:
        return reference
    between = respond.make(case.through)(reference)
    parameters = inspect.signature(between).parameters.values()
    own = all(each.kind is not inspect.Parameter.VAR_POSITIONAL for each in parameters)
    return between if own else reference


def own_case(reference: Callable[..., Any], case: Case) -> Case:
    """The case with what the answer itself is handed, by name, where the judge's code stands between."""
    between = receiver(reference, case)
    if between is reference:
        return case
    own = argument_names(reference)
    if inspect.isclass(reference):
        own += inspect.signature(reference).parameters
    given = dict(zip(argument_names(between), case.args, strict=False)) | case.kwargs
    # What is made in the kernel has no words.
    kept = {
        name: value for name, value in given.items() if name in own and not isinstance(value, MadeInKernel)
    }
    return replace(case, args=(), kwargs=kept)


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
