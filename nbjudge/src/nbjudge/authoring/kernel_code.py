"""The code of a function of the checks, gathered so that it can run in a kernel that has none of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.parsing import source_of
from nbjudge.values.kinds import KINDS
from nbjudge.values.packing import MadeInKernel

PLAIN = (bool, int, float, str, tuple, list, dict, type(None))


def made_by(function: Callable[..., Any], **given: Any) -> MadeInKernel:
    """An argument that the kernel makes: ``made_by(small_model, width=8)`` is there what it returns.

    For callables and objects, which do not travel. The function is written like any other: it may use the
    libraries that are imported beside it, and functions, classes and plain constants of its own file.
    Its arguments travel as values do. Its docstrings and comments stay behind.

    Raises CourseError where it uses what cannot come along.
    """
    code, needed = _program(function)
    return MadeInKernel(f"{code}\nmade = {function.__name__}(**given)", needed | {"given": given})


def as_kernel_code(function: Callable[..., Any] | MadeInKernel) -> MadeInKernel:
    """Return a function of the checks as code that a kernel calls in place of the answer, see `case`.

    Raises CourseError where it uses what cannot come along.
    """
    if isinstance(function, MadeInKernel):  # written as a program
        return function
    inner, given = (function.func, function.keywords) if isinstance(function, partial) else (function, {})
    code, needed = _program(inner)
    through = f"{code}\ndef made(answer):\n    return {inner.__name__}(answer, **given)"
    return MadeInKernel(through, needed | {"given": given})


def _program(function: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """The source of a function and of all it needs, and the constants that this uses."""
    parts: dict[str, str] = {}
    constants: dict[str, Any] = {}
    _gather(function, parts, constants)
    return "\n".join(parts.values()), constants


def _gather(thing: Any, parts: dict[str, str], constants: dict[str, Any]) -> None:
    """Put the source of a function or class into `parts`, behind that of what it uses of its own checks."""
    name = thing.__name__
    if name in parts:
        return
    parts[name] = ""  # it may call itself
    source = source_of(thing)
    module_names = vars(sys.modules[thing.__module__])
    for used in sorted(_names(compile(source, "<checks>", "exec")) & module_names.keys()):
        value = module_names[used]
        if isinstance(value, ModuleType):
            if all(kind.names.get(used) != value.__name__ for kind in KINDS):
                parts[f"import {used}"] = f"import {value.__name__} as {used}"
        elif isinstance(value, (type, FunctionType)):
            if _package(value) == _package(thing):
                _gather(value, parts, constants)
            else:
                parts[f"import {used}"] = f"from {value.__module__} import {value.__name__} as {used}"
        elif isinstance(value, PLAIN):
            constants[used] = value
        else:
            raise CourseError(
                f"{name}, which is to run in a kernel, uses {used}, a {type(value).__name__} that cannot "
                "come along: hand it over as an argument."
            )
    del parts[name]  # behind what it needs
    parts[name] = source


def _package(thing: Any) -> str:
    return str(thing.__module__).partition(".")[0]


def _names(code: CodeType) -> set[str]:
    """All names that a piece of code looks up, also inside of its own functions and classes."""
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inside))
