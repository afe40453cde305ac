"""The names of arguments, for sentences: those of the answer, or of the course's code that wraps it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.probe import respond
from nbjudge.values.packing import MadeInKernel


def receiver(reference: Callable[..., Any], case: Case) -> Callable[..., Any]:
    """Return the function that gets the case's arguments: the answer, or code of the course that wraps it."""
    if case.through is None:
        return reference
    between = respond.make(case.through)(reference)
    parameters = inspect.signature(between).parameters.values()
    own = all(each.kind is not inspect.Parameter.VAR_POSITIONAL for each in parameters)
    return between if own else reference


def own_case(reference: Callable[..., Any], case: Case) -> Case:
    """Return the case with only those arguments that the answer itself gets, by name."""
    between = receiver(reference, case)
    if between is reference:
        return case
    own = argument_names(reference)
    if inspect.isclass(reference):
        own += inspect.signature(reference).parameters
    given = dict(zip(argument_names(between), case.args, strict=False)) | case.kwargs
    # Values that are made in the kernel cannot be described.
    kwargs = {
        name: value for name, value in given.items() if name in own and not isinstance(value, MadeInKernel)
    }
    return replace(case, args=(), kwargs=kwargs)


def argument_names(function: Callable[..., Any]) -> list[str]:
    """Return the parameter names of a function, or of a module's `forward`."""
    if inspect.isclass(function):
        return list(inspect.signature(function.forward).parameters)[1:]  # type: ignore[attr-defined]
    return list(inspect.signature(function).parameters)


def argument_name(function: Callable[..., Any], path: str) -> str:
    """Return the parameter for a path in a request, such as "/args/0" or "/kwargs/axis"."""
    parts, names = path.split("/"), argument_names(function)
    if len(parts) < 3:
        return path  # not a path of a request
    if parts[1] == "args" and parts[2].isdecimal() and int(parts[2]) < len(names):
        return names[int(parts[2])]
    return parts[2]
