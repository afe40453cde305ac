"""One call that the judge asks for: its arguments, how its object is made, and code that makes the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbjudge.authoring.kernel_code import as_kernel_code
from nbjudge.values.packing import MadeInKernel


@dataclass(frozen=True)
class Build:
    """How an object is made before it is called; see `build`."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    look: tuple[str, ...]
    builder: str = "object"  # who makes it in the kernel: one of `nbjudge.probe.building.BUILDERS`


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
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    gradients: bool = False
    refuses: tuple[int, ...] | None = None
    build: Build | None = None
    through: MadeInKernel | None = None
    or_naming: tuple[int, ...] = ()
    measure: MadeInKernel | None = None


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
    """Write a case the way the call itself is written: ``case(sample, weights=weights)``.

    `refuses` are the numbers that the sentence of a ValueError has to hold, where the call cannot work;
    `or_naming` are others that say as much (a whole and the number of its parts, for the size of a part).

    Where an answer takes or returns what cannot travel (an optimizer, an open file), `through` is a
    function that runs in the kernel: given the answer, it returns the callable that gets the arguments
    in its place. What it needs besides is handed over by ``partial(function, name=value)``. It may make
    and report, in values that can travel; to compare is the judge's alone. See `made_by` for what such
    a function may use.

    `measure` is a function that runs in the kernel and makes the call: given a callable without arguments,
    it calls it and returns the pair (value, report). The value is compared like any other, and where it is
    right, the `verify` of the group gets the report. `nbjudge.torch.memory` has two such functions.
    """
    refused = tuple(refuses) if refuses is not None else None
    between = None if through is None else as_kernel_code(through)
    measured = None if measure is None else as_kernel_code(measure)
    return Case(args, kwargs, gradients, refused, build, between, tuple(or_naming), measured)
