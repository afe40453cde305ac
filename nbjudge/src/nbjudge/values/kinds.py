"""Kinds of values, and all that the grader has to know of one: to send it, copy it, compare it, describe it.

Plain values (numbers, texts, lists, dicts, None) need no kind. NumPy's arrays and pandas' tables have one
here, torch's tensors in `nbjudge.torch`; another library's values take one class more, and a line that
registers it. No library is imported before a value of it is met.

Part of what runs in the student's kernel, see `nbjudge.kernel.requests`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# A value's place in nested lists and dicts, such as "/args/0", and the value.
Named = tuple[str, Any]


class Kind:
    """One kind of value. Every method but `owns` is for values that it owns."""

    wire_name = ""  # what its values are called in a message
    library = ""  # the package that its values come from
    noun = ""  # what a sentence calls one: "tensor"
    names: dict[str, str] = {}  # under which code that is sent along finds which modules: {"np": "numpy"}
    differentiates = False  # whether gradients flow through its values
    no_gradient = ""  # why none may have reached an argument, as the end of a sentence
    cause_of_chance = ""  # a usual cause where one call gives two results, as a sentence

    def imported(self) -> Any:
        """Its library, where it has been imported already: before that there is no value of it."""
        return sys.modules.get(self.library)

    def classes(self, *names: str) -> tuple[type, ...]:
        """Those of its library that are there: another thread may be in the middle of importing it."""
        found = (getattr(self.imported(), name, None) for name in names)
        return tuple(each for each in found if each is not None)

    def owns(self, value: Any) -> bool:
        raise NotImplementedError

    # To travel.

    def to_tree(self, value: Any, message: Any) -> dict[str, Any] | None:
        """The value as a node of a message's tree (see `packing.Message`), or None where it cannot travel."""
        raise NotImplementedError

    def from_tree(self, content: Any, message: Any) -> Any:
        """The value again. What is no content of `to_tree` raises ValueError, TypeError or the like."""
        raise NotImplementedError

    # In the kernel.

    def copy(self, value: Any, with_gradient: bool) -> Any:
        """A value of the answer's own, to do with as it likes."""
        raise NotImplementedError

    def copy_within_graph(self, value: Any) -> Any:
        """A copy to do with as one likes, through which gradients reach `value` itself."""
        return self.copy(value, False)

    def snapshot(self, value: Any) -> Any:
        """The value as it is now, whatever becomes of it later."""
        return self.copy(value, False)

    def identical(self, value: Any, other: Any) -> bool:
        """Whether another value is the same to the last bit, NaN included: an argument was left alone."""
        raise NotImplementedError

    def advice_on(self, error: str, message: str) -> str:
        """What to do about an error of its library, as a sentence; empty where its message says it."""
        return ""

    def draw_from(self, seed: int) -> Callable[[], None]:
        """Have its library draw by chance from a seed; what is returned undoes that."""
        return lambda: None

    def companions(self, value: Any) -> dict[str, Any]:
        """What belongs to a value and is no part of it, such as a gradient."""
        return {}

    def gradients(
        self, outputs: Sequence[Any], cotangents: Sequence[Any], inputs: Sequence[Named]
    ) -> dict[str, Any]:
        """The gradient of sum(output · cotangent) for each input by its name, None where none flows."""
        raise NotImplementedError

    # At the judge's.

    def same(self, value: Any, other: Any, tolerance: Any, equal_nan: bool) -> bool:
        """Whether two of its values agree within a tolerance (`nbjudge.authoring.Tolerance`)."""
        raise NotImplementedError

    def differences(self, name: str, value: Any, expected: Any) -> Iterator[str]:
        """Sentences on how `name`, a value, misses the expected one, the most telling first.

        Arrays need none: the judge measures their numbers (`nbjudge.judge.array_messages`).
        """
        yield f"{name} is {self.describe(value)} with other contents than were asked for."

    def describe(self, value: Any) -> str:
        """The value in a few words: "a float32 tensor of shape (3, 4)"."""
        return f"a {self.noun}"

    def kind_and_shape(self, value: Any) -> str:
        """The words for a value that was returned in place of another kind: "a tensor of shape (3, 4)"."""
        return self.describe(value)


KINDS: list[Kind] = []
PLAIN_TYPES = {type(None), bool, int, float, str, list, tuple, dict}
_owner_of: dict[type, Kind] = {}  # of the types that were met and have one; the others may get one yet


def register(kind: Kind) -> None:
    """Make a kind known to the code that packs, calls or judges in this process."""
    if all(type(other) is not type(kind) for other in KINDS):
        KINDS.append(kind)
        _owner_of.clear()


def kind_of(value: Any) -> Kind | None:
    """The kind that owns a value; None for plain values, and for unknown ones."""
    known = type(value)
    if known in PLAIN_TYPES:
        return None
    if known not in _owner_of:
        owner = next((kind for kind in KINDS if kind.owns(value)), None)
        if owner is None:
            return None
        _owner_of[known] = owner
    return _owner_of[known]


def owned_values(value: Any, place: str = "") -> Iterator[Named]:
    """(place, value) for every value of some kind in nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        for index, entry in enumerate(value):
            yield from owned_values(entry, f"{place}/{index}")
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from owned_values(entry, f"{place}/{key}")
    elif kind_of(value) is not None:
        yield place, value
