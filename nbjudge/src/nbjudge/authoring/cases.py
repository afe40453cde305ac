"""Inputs drawn from a seed, cases that call an answer with them, and code of the checks for the kernel.

The author of a check is told what no message between grader and kernel could carry.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from types import FunctionType, ModuleType
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.parsing import reached, source_of
from nbjudge.values.kinds import KINDS, LONGEST_LIST, LONGEST_TEXT, ArrayKind, change_leaves, kind_of
from nbjudge.values.packing import (
    DEEPEST_NEST,
    LONGEST_TREE,
    MOST_ENTRIES,
    MadeInKernel,
    Message,
    compile_for_kernel,
    is_plain_key,
    names_in,
)


class Draw:
    """A source of sizes, numbers and arrays that repeats itself for the same seed.

    Its arrays are NumPy's; `nbjudge.torch.Draw` draws tensors. A course that wants other sizes, or
    draws things of its own, makes a subclass and hands it to its exercises: ``Exercise(..., draw=MyDraw)``.
    """

    # Sizes that few notebooks use, so that a number copied from one never fits a hidden case by accident.
    fresh_sizes: Sequence[int] = (7, 9, 11, 13, 14, 17, 18, 19)
    fresh_even_sizes: Sequence[int] = (14, 18, 22, 26, 28, 34, 36, 38)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._numpy: Any = None

    def sizes(self, count: int) -> tuple[int, ...]:
        """`count` sizes (at most 8), all different from each other."""
        return tuple(self.shuffled(self.fresh_sizes)[:count])

    def even_sizes(self, count: int) -> tuple[int, ...]:
        """As `sizes`, but even; at most 8."""
        return tuple(self.shuffled(self.fresh_even_sizes)[:count])

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return self._random.randint(low, high)

    def shuffled(self, things: Iterable[Any]) -> list[Any]:
        """The same things in another order."""
        listed = list(things)
        return self._random.sample(listed, len(listed))

    def integers(self, low: int, high: int, *shape: int) -> Any:
        """An int64 array of whole numbers from `low` to `high`, both included."""
        return self.generator.integers(low, high, shape, endpoint=True)

    def normal(self, *shape: int, dtype: Any = "float64") -> Any:
        """Standard-normal numbers: an array of this shape and dtype."""
        return self.generator.standard_normal(shape).astype(dtype)

    def uniform(self, *shape: int, dtype: Any = "float64") -> Any:
        """Numbers between 0 and 1: an array of this shape and dtype."""
        return self.generator.random(shape).astype(dtype)

    def permutation(self, length: int) -> Any:
        """A reordering of `length` positions that moves every one of them."""
        import numpy

        shift = self.integer(1, length - 1) if length > 1 else 0
        cycle = numpy.array(self.shuffled(range(length)), dtype="int64")
        order = numpy.empty_like(cycle)
        order[cycle] = numpy.roll(cycle, shift)
        return order

    @property
    def generator(self) -> Any:
        """NumPy's generator (torch's in `nbjudge.torch.Draw`), for whatever else is drawn."""
        if self._numpy is None:
            import numpy

            self._numpy = numpy.random.default_rng(self._seed)
        return self._numpy


def in_any_order(make: Callable[[Any], Iterable[Any]]) -> Callable[[Any], list[Any]]:
    """Have the cases of a group asked in an order that differs with every submission.

    For yes-or-no answers: counting how often each was requested does not reveal the next one.
    """

    @wraps(make)
    def shuffled(draw: Any) -> list[Any]:
        return list(draw.shuffled(make(draw)))

    return shuffled


@dataclass(frozen=True)
class Build:
    """The making of an object before it is called; see `build`."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    look: tuple[str, ...]
    builder: str = "object"  # who makes it in the kernel: one of `nbjudge.probe.respond.BUILDERS`


def build(*args: Any, look: Sequence[str] = ("result",), **kwargs: Any) -> Build:
    """Make an object of a class that is the answer: ``case(numbers, build=build(3, look=("fit",)))``.

    `look` says what to send back: "result" of calling the object with the case's arguments, "result
    again" (of a second call), its "attributes" (names and types); any other word is a method, called
    with the same arguments. One "result" is the value itself, anything else a dict. Without "result"
    or a method the object is only made. torch's modules have a `build` of their own in `nbjudge.torch`.
    """
    return Build(args, kwargs, tuple(look))


@dataclass(frozen=True)
class Case:
    """One call that the judge asks the student's kernel to make.

    `gradients` asks for the gradient of every floating tensor argument (and parameter) as well;
    NumPy's arrays have none.
    `refuses` says that the call cannot work: the answer must raise `ValueError` with a
    sentence that holds each of these numbers, or each of those in `or_naming`. `build` is there
    when the answer is a class.
    `through` is judge's code that is called in place of the answer and calls it, see `case`.
    `measure` is code of the judge's that makes the call and reports what it took, see `case`.
    `reads_variable` says that the answer is a variable: nothing is called, and its value is sent back.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    gradients: bool = False
    refuses: tuple[int, ...] | None = None
    build: Build | None = None
    through: MadeInKernel | None = None
    or_naming: tuple[int, ...] = ()
    measure: MadeInKernel | None = None
    reads_variable: bool = False


def case(
    *args: Any,
    gradients: bool = False,
    refuses: Sequence[int] | None = None,
    build: Build | None = None,
    through: Callable[..., Any] | MadeInKernel | None = None,
    or_naming: Sequence[int] = (),
    measure: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Case:
    """Make one call of the student's answer, written as the call itself: ``case(sample, weights=weights)``.

    Parameters
    ----------
    args, kwargs
        The arguments of the call. These and the result are None, numbers, text, bytes, arrays, tensors or
        tables, or lists, tuples, dicts and sets of them; entries of sets and keys have no tolerance. A named
        tuple reaches the answer, and the solution, as a plain one.
    gradients
        Whether to compare the gradient of every floating tensor argument and parameter as well.
    refuses
        The numbers that the message of a `ValueError` must contain, if the call must fail.
    build
        How to make the object that is called, if the answer is a class.
    through
        A function that runs in the kernel, for arguments or results that cannot be sent (an optimizer, a
        generator): given the answer, it returns the callable that gets the arguments in its place. Other
        values are handed over by ``partial(function, name=value)``. It makes and reports, and compares
        nothing; see `made_by` for what it may use.
    or_naming
        Other numbers that the message may contain instead of those of `refuses`.
    measure
        A function that runs in the kernel and makes the call: given a callable without arguments, it calls it
        and returns the pair (value, report). The value is compared; if it is right, the `verify` of the
        group gets the report. `nbjudge.torch.memory` has two such functions.

    Returns
    -------
    Case
        The case, for a group to yield.

    Examples
    --------
    >>> from nbjudge import case
    >>> case([1.0, 2.0], ddof=1).kwargs
    {'ddof': 1}
    >>> case([], refuses=(0,)).refuses
    (0,)
    """
    refused = tuple(refuses) if refuses is not None else None
    between = None if through is None else as_kernel_code(through)
    measured = None if measure is None else as_kernel_code(measure)
    plain_args, plain_kwargs = (change_leaves(each, lambda leaf: leaf) for each in (args, kwargs))
    return Case(plain_args, plain_kwargs, gradients, refused, build, between, tuple(or_naming), measured)


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
    """The source of a function and of all that it uses of its own checks, and the constants of these."""
    imports, constants = set[str](), dict[str, Any]()

    def leads_to(thing: Any) -> Iterator[Any]:
        module_names = vars(sys.modules[thing.__module__])
        for used in sorted(names_in(compile_for_kernel(source_of(thing))) & module_names.keys()):
            value = module_names[used]
            if isinstance(value, ModuleType):
                if all(kind.names.get(used) != value.__name__ for kind in KINDS):
                    imports.add(f"import {value.__name__} as {used}")
            elif isinstance(value, (type, FunctionType)):
                if _package(value) == _package(thing):
                    yield value
                else:
                    imports.add(f"from {value.__module__} import {value.__name__} as {used}")
            elif isinstance(value, PLAIN) and not why_it_cannot_travel(value):
                constants[used] = value
            else:
                raise CourseError(
                    f"{thing.__name__}, which is to run in a kernel, uses {used}, a {type(value).__name__} "
                    "that cannot come along: hand it over as an argument."
                )

    parts = reached([function], leads_to)
    return "\n".join([*sorted(imports), *map(source_of, parts)]), constants


def _package(thing: Any) -> str:
    return str(thing.__module__).partition(".")[0]


MOST_NUMBERS = 40 * 2**20  # bytes of arrays that fit into a reply, see `kernel.protocol.LARGEST_REPLY`
OVERHEAD_OF_A_NODE = 25  # characters: a number, or brackets and the word that says what it is


def why_it_cannot_travel(value: Any) -> str:
    """Return what of a value no message could carry, as the end of a sentence; empty where all of it can.

    The numbers of arrays, which may be many, are not looked at.
    """
    size = _Size()
    return _obstacle(value, 0, size) or size.excess()


@dataclass
class _Size:
    """The part of a message that some values take, rounded up."""

    entries: int = 0
    characters: int = 0  # of the tree, as base64
    numbers: int = 0  # bytes of arrays

    def excess(self) -> str:
        """Return what is more than one message carries; a quarter is left for what comes along in a reply."""
        for count, limit, what in (
            (self.entries, MOST_ENTRIES * 3 // 4, "values in lists and dicts"),
            (self.characters * 4 // 3, LONGEST_TREE * 3 // 4, "characters of lists, dicts and texts"),
            (self.numbers, MOST_NUMBERS, "bytes of arrays"),
        ):
            if count > limit:
                return f"{count:,} {what}, and a message carries {limit:,}"
        return ""


def _obstacle(value: Any, depth: int, size: _Size) -> str:
    size.entries += 1
    size.characters += OVERHEAD_OF_A_NODE
    if type(value) in (type(None), bool, float) or (type(value) is int and value.bit_length() <= 64):
        return ""
    if type(value) is str and len(value) <= LONGEST_TEXT:
        size.characters += len(json.dumps(value))
        return ""
    if isinstance(value, MadeInKernel):
        size.characters += len(value.compiled())
        return _obstacle(value.given, depth + 1, size)
    if isinstance(value, (list, tuple, dict)):
        if depth > DEEPEST_NEST or len(value) > LONGEST_LIST:
            return "what is nested too deeply or holds too many entries"
        if isinstance(value, dict) and not all(map(is_plain_key, value)):
            return "a dict with a key that is neither a plain value nor a tuple of plain values"
        keys, entries = (value, value.values()) if isinstance(value, dict) else ((), value)
        inside = (*((key, 0) for key in keys), *((entry, depth + 1) for entry in entries))
        return next((reason for each, deep in inside if (reason := _obstacle(each, deep, size))), "")
    owner = kind_of(value)
    if isinstance(owner, ArrayKind):
        obstacle = owner.obstacle(value)
        size.numbers += 0 if obstacle else value.nbytes
    else:
        message = Message()
        tree = message.tree(value, depth)
        written = json.dumps(tree)
        size.characters += len(written)
        size.entries += 0 if isinstance(value, str) else written.count(",")
        size.numbers += len(message.numbers)
        obstacle = next(_unreadable(tree), "")
    if not obstacle or isinstance(value, (str, int)):
        return obstacle
    known = ", ".join(dict.fromkeys(kind.noun for kind in KINDS))
    return f"{obstacle}, which is neither a plain value nor a known kind ({known})"


def _unreadable(tree: Any) -> Iterator[str]:
    """The first name of the type of what arrives as names only, anywhere in a message's tree."""
    if isinstance(tree, dict):
        yield from (str(content).partition("|")[0] for kind, content in tree.items() if kind == "other")
    for inside in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _unreadable(inside)
