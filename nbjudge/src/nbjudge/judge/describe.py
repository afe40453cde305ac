"""The words for values, numbers, arguments and calls in a sentence.

A case's arguments are named as the function that gets them names its parameters: the answer, or code of the
course that wraps it.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.values.kinds import KINDS, kind_of
from nbjudge.values.packing import MadeInKernel, UnreadableValue, make

MOST_NAMES = 4
LONGEST_SHORT = 60  # characters of a value in a sentence
DIGITS = 4
MOST_DIGITS = 17  # any two floats that differ do so in these


def kind(value: Any) -> str:
    if isinstance(value, UnreadableValue):
        return _object(value)[0]
    owner = kind_of(value)
    if owner is not None:
        return owner.kind_and_shape(value)
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    article = "an" if isinstance(value, int) and not isinstance(value, bool) else "a"
    names = {float: "Python float", int: "int", bool: "Python bool", str: "string", complex: "complex number"}
    return "None" if value is None else f"{article} {names.get(type(value), type(value).__name__)}"


_NOT_CALLED = "a function or method that was not called", "Are its brackets missing?"
_ONE_BY_ONE = "It gives its entries one by one: collect them, for example with `list(...)`."
# What may be returned by mistake, by the full name of its type: the words for it, and the usual cause.
_OBJECTS = dict.fromkeys(
    ("builtins.builtin_function_or_method", "builtins.method", "builtins.method-wrapper"), _NOT_CALLED
)
_OBJECTS |= {f"builtins.dict_{part}": (f"the {part} of a dict", _ONE_BY_ONE) for part in ("keys", "values")}
_OBJECTS |= {f"builtins.{name}": (f"a `{name}` object", _ONE_BY_ONE) for name in ("map", "zip", "filter")}
_OBJECTS |= {
    f"builtins.{name}": (f"a {name} of more entries than are read", "")
    for name in ("list", "tuple", "dict", "set", "frozenset")
}
_OBJECTS |= {
    "builtins.dict_items": ("the items of a dict", _ONE_BY_ONE),
    "builtins.enumerate": ("an `enumerate` object", _ONE_BY_ONE),
    "builtins.function": ("a function", "Call it, or return what it returns."),
    "builtins.generator": ("a generator", f"{_ONE_BY_ONE} Or write `return` in place of `yield`."),
    "builtins.module": ("a module", "Name what you need of it, such as a function, and call that."),
    "builtins.range": ("a `range` object", _ONE_BY_ONE),
    "builtins.reversed": ("a `reversed` object", _ONE_BY_ONE),
    "builtins.type": ("a class", "Make an object of it: are its brackets missing?"),
}


def _object(value: UnreadableValue) -> tuple[str, str]:
    """The words for an object that could not be read, and the usual cause as a sentence, if one is known."""
    if " " in value.kind:  # words already
        return value.kind, ""
    known = _OBJECTS | {name: words for owner in KINDS for name, words in owner.objects.items()}
    names = value.kind.split("|")
    plain = names[0].removeprefix("builtins.").removeprefix("__main__.")
    return next((known[name] for name in names if name in known), (f"an object of type {plain}", ""))


_PLAIN = {f"builtins.{name}": "a number" for name in ("bool", "int", "float", "complex")}
_PLAIN |= {"builtins.str": "a string", "builtins.NoneType": "None"}
_PLAIN |= {f"builtins.{name}": f"a {name}" for name in ("list", "tuple", "dict", "set")}


def kind_of_types(types: str) -> str:
    """Return the words for a value of which only the types are known, see `type_names`."""
    names = types.split("|")
    plain = next((_PLAIN[name] for name in names if name in _PLAIN), None)
    if plain is not None:
        return plain
    for owner in KINDS:
        parts = ((name.partition(".")[0], name.rpartition(".")[2]) for name in names)
        if any(library == owner.library and name in owner.type_names for library, name in parts):
            return f"{'an' if owner.noun[0] in 'aeiou' else 'a'} {owner.noun}"
    return _object(UnreadableValue(types))[0]


def usual_cause(value: Any) -> str:
    """Return the usual cause of a result that is no value, as a sentence."""
    return _object(value)[1] if isinstance(value, UnreadableValue) else ""


def short(value: Any) -> str:
    owner = kind_of(value)
    if owner is not None:
        return owner.describe(value)
    if isinstance(value, UnreadableValue):
        return kind(value)
    if isinstance(value, MadeInKernel):
        return "an object"
    if isinstance(value, (list, tuple)) and 0 < len(value) <= MOST_NAMES and all(map(kind_of, value)):
        return _arrays(value)
    text = f"{value:.6g}" if isinstance(value, float) else _BRIEF.repr(value)
    if isinstance(value, dict) and len(text) > LONGEST_SHORT and any(map(kind_of, value.values())):
        return f"a dict of {len(value)} entries"
    return text if len(text) <= LONGEST_SHORT else text[: LONGEST_SHORT - 3] + "..."


def plain_text(value: Any) -> str:
    """Return a value as a sentence shows it, a text without quotation marks."""
    return short(value)[1:-1] if isinstance(value, str) and len(value) < LONGEST_SHORT else short(value)


def _arrays(values: Sequence[Any]) -> str:
    """A few arrays in a list, each whole: "a tuple of 2, each a float32 array of shape (7, 9)"."""
    texts = [short(value) for value in values]
    if len(set(texts)) == 1 < len(texts):
        return f"{kind(values)}, each {texts[0]}"
    return f"{kind(values)}: {listed(texts)}"


class _Brief(reprlib.Repr):
    """Says no more of a value than a sentence holds, however much of it there is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = LONGEST_SHORT // 3
        self.maxlevel, self.maxstring, self.maxlong = 3, LONGEST_SHORT + 4, LONGEST_SHORT

    def repr1(self, value: Any, level: int) -> str:
        if isinstance(value, (UnreadableValue, MadeInKernel)) or kind_of(value) is not None:
            return short(value)
        return super().repr1(value, level)


_BRIEF = _Brief()


def number(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, (float, complex)) else str(value)


def told_apart(actual: Any, expected: Any) -> tuple[str, str]:
    """Two numbers with few digits, or with as many as it takes to see that they differ."""
    values = [value.item() if hasattr(value, "item") else value for value in (actual, expected)]
    if not all(isinstance(value, float) for value in values):
        return short(values[0]), short(values[1])
    for digits in range(DIGITS, MOST_DIGITS + 1):
        actual, expected = (f"{value:.{digits}g}" for value in values)
        if actual != expected:
            break
    return actual, expected


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; of more than a few the first and how many follow."""
    if len(words) > MOST_NAMES + 1:
        words = [*words[:MOST_NAMES], f"{len(words) - MOST_NAMES} more"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}" if words else ""


def describe_call(case: Case) -> str:
    """Describe the arguments of a call: "a float64 array of shape (7, 9), axis=1"."""
    call = _arguments(case.args, case.kwargs)
    if case.build is None:
        return call
    module = f"a module made with ({_arguments(case.build.args, case.build.kwargs)})"
    return f"{module} and {call}" if call else module


def _arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    return ", ".join([short(value) for value in args] + [f"{name}={short(kwargs[name])}" for name in kwargs])


def receiver(reference: Callable[..., Any], case: Case) -> Callable[..., Any]:
    """Return the function that gets the case's arguments: the answer, or code of the course that wraps it."""
    if case.through is None:
        return reference
    between = make(case.through)(reference)
    parameters = inspect.signature(between).parameters.values()
    own = all(parameter.kind is not inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
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


def part_name(reference: Callable[..., Any], place: str) -> str:
    """Name a part of an object, such as "/args/0._modules.embedding._parameters.weight"."""
    argument, *inner = place.split(".")
    names = [name for name in inner if name.strip("_") == name != "grad" and not name.isdecimal() and name]
    owner = f"`{argument_name(reference, argument)}`"
    part = f"`{'.'.join(names)}` of {owner}" if names else owner
    return f"the gradient of {part}" if inner[-1] == "grad" else part
