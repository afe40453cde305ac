"""Kinds of values, and all that the grader has to know of one: to send it, copy it, compare it, describe it.

Plain values (numbers, texts, lists, dicts, None) need no kind. NumPy's arrays have one here, which shares
`ArrayKind` with torch's tensors in `nbjudge.torch`; pandas' tables have theirs in `nbjudge.values.tables`.
Another library's values take one class more, and a line that registers it. No library is imported before a
value of it is met. A scalar of NumPy's (`numpy.int64(3)`, or an array without axes) counts as the plain
number that it is.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

LARGEST_ARRAY = 2**22  # elements
LONGEST_LIST = 10_000  # entries
LONGEST_TEXT = 20_000  # characters
BYTES_OF_A_CHARACTER = 4  # in an array of NumPy's, where each text takes as much as the longest
LARGEST_OF_TEXTS = 2**24  # bytes of such an array
# A value's place in nested lists and dicts, such as "/args/0", and the value.
Named = tuple[str, Any]


class Kind:
    """One kind of value. Every method but `owns` is for values that it owns."""

    message_tag = ""  # what its values are called in a message
    library = ""  # the package that its values come from
    type_names: tuple[str, ...] = ()  # the names of their types in that package
    noun = ""  # what a sentence calls one: "tensor"
    names: dict[str, str] = {}  # under which code that is sent along finds which modules: {"np": "numpy"}
    differentiates = False  # whether gradients flow through its values
    no_gradient = ""  # why none may have reached an argument, as the end of a sentence
    # Objects of its library that are returned by mistake: by the name of their type, the words for one and
    # the usual cause, as a sentence.
    objects: dict[str, tuple[str, str]] = {}
    cause_of_chance = ""  # usual causes where one call gives two results, as a sentence

    def imported(self) -> Any:
        """Its library, where it has been imported already: before that there is no value of it."""
        return sys.modules.get(self.library)

    def owns(self, value: Any) -> bool:
        """Return whether a value is of this kind."""
        # Another thread may be in the middle of importing the library.
        found = (getattr(self.imported(), name, None) for name in self.type_names)
        return isinstance(value, tuple(each for each in found if each is not None))

    # To travel.

    def to_tree(self, value: Any, message: Any) -> dict[str, Any]:
        """The value as a node of a message's tree (see `packing.Message`); "other" if it cannot travel."""
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
        """Return whether another value is the same to the last bit, NaN included: it was left alone."""
        raise NotImplementedError

    def advice_on(self, error: str, message: str) -> str:
        """Return what to do about an error of its library, as a sentence; empty where its message says it."""
        return ""

    def draw_from(self, seed: int) -> Callable[[], None]:
        """Have its library draw by chance from a seed, on the processor; what is returned undoes that."""
        return lambda: None

    def switched(self) -> list[str]:
        """The calls that have changed what its library does by default, as one writes them."""
        return []

    def companions(self, value: Any) -> dict[str, Any]:
        """Return what belongs to a value and is no part of it, such as a gradient."""
        return {}

    def gradients(
        self, outputs: Sequence[Any], cotangents: Sequence[Any], inputs: Sequence[Named]
    ) -> dict[str, Any]:
        """The gradient of sum(output · cotangent) for each input by its name, None where none flows."""
        raise NotImplementedError

    # At the judge's.

    def same(self, value: Any, other: Any, tolerance: Any, equal_nan: bool) -> bool:
        """Return whether two of its values agree within a tolerance (`nbjudge.authoring.Tolerance`)."""
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


def type_name(value: Any) -> str:
    """The full name of a value's type, for a message."""
    return f"{type(value).__module__}.{type(value).__qualname__}"[:LONGEST_TEXT]


def type_names(value: Any) -> str:
    """The full names of a value's type and of the types it is derived from, with "|" between them."""
    names = (f"{each.__module__}.{each.__qualname__}" for each in type(value).__mro__)
    return "|".join(names)[:LONGEST_TEXT]


def leaves(value: Any, place: str = "") -> Iterator[Named]:
    """(place, value) of each entry of nested lists, tuples and dicts that is none of these itself."""
    if isinstance(value, (list, tuple, dict)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(entry, f"{place}/{key}")
    else:
        yield place, value


def owned_values(value: Any) -> Iterator[Named]:
    """(place, value) for every value of some kind in nested lists, tuples and dicts."""
    return ((place, leaf) for place, leaf in leaves(value) if kind_of(leaf) is not None)


def change_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of nested lists, tuples and dicts in which each other value is changed.

    A named tuple becomes a plain one.
    """
    if isinstance(value, (list, tuple)):
        entries = [change_leaves(entry, change) for entry in value]
        return entries if isinstance(value, list) else tuple(entries)
    if isinstance(value, dict):
        return {key: change_leaves(entry, change) for key, entry in value.items()}
    return change(value)


SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
SIZES |= {"int64": 8, "uint64": 8, "float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
TIMES = re.compile(r"(?:datetime|timedelta)64\[(?:Y|M|W|D|h|m|s|ms|us|ns)\]")
PLAIN = (bool, int, float, str)
DOUBLE = ("float64", "complex128")


class ArrayKind(Kind):
    """A kind whose values have axes, one dtype, and a NumPy array of the same numbers."""

    def obstacle(self, value: Any) -> str:
        """Describe the value if it cannot travel; empty as a rule."""
        raise NotImplementedError

    def as_numbers(self, value: Any) -> Any:
        """Its numbers as a NumPy array, to be looked at only."""
        raise NotImplementedError

    def dtype(self, value: Any) -> str:
        """The name of its dtype without the library's: "float32"."""
        raise NotImplementedError

    def zeros_like(self, value: Any) -> Any:
        raise NotImplementedError

    def rolled(self, value: Any, axis: int) -> Any:
        """Return a copy in which each entry is one further along an axis, and the last one first."""
        raise NotImplementedError

    def is_floating(self, value: Any) -> bool:
        return "float" in self.dtype(value)

    def same(self, value: Any, other: Any, tolerance: Any, equal_nan: bool) -> bool:
        """Equal shape and dtype, and `numpy.allclose` with the tolerance of the dtype."""
        import numpy as np

        dtype = self.dtype(value)
        if tuple(value.shape) != tuple(other.shape) or dtype != self.dtype(other):
            return False
        values, others = self.as_numbers(value), self.as_numbers(other)
        if np.array_equal(values, others):
            return True
        if values.dtype.kind in "mM":
            return equal_nan and np.array_equal(values, others, equal_nan=True)
        if values.dtype.kind not in "fc":
            return False
        rtol, atol = tolerance.float64 if dtype in DOUBLE else tolerance.float32
        return bool(np.allclose(values, others, rtol=rtol, atol=atol, equal_nan=equal_nan))

    def describe(self, value: Any) -> str:
        dtype = self.dtype(value)
        return f"{'an' if dtype[0] == 'i' else 'a'} {dtype} {self.noun} of shape {tuple(value.shape)}"

    def kind_and_shape(self, value: Any) -> str:
        article = "an" if self.noun[0] in "aeiou" else "a"
        return f"{article} {self.noun} of shape {tuple(value.shape)}"


def is_array(value: Any) -> bool:
    """Return whether a value is an array or a tensor."""
    return isinstance(kind_of(value), ArrayKind)


class NumpyArrays(ArrayKind):
    """`numpy.ndarray`, of numbers, truth values, times or texts."""

    message_tag = "array"
    library = "numpy"
    type_names = ("ndarray", "generic")
    names = {"np": "numpy"}
    noun = "array"

    def as_numbers(self, value: Any) -> Any:
        return value

    def dtype(self, value: Any) -> str:
        return "str" if value.dtype.kind == "U" else str(value.dtype)

    def zeros_like(self, value: Any) -> Any:
        return self.imported().zeros_like(value)

    def rolled(self, value: Any, axis: int) -> Any:
        return self.imported().roll(value, 1, axis=axis)

    def obstacle(self, value: Any) -> str:
        numpy = self.imported()
        if isinstance(value, numpy.generic) or (type(value) is numpy.ndarray and not value.shape):
            return "" if type(value.item()) in (*PLAIN, complex) else type_name(value)
        if type(value) is not numpy.ndarray:  # a student's class may compute when it is read
            return type_name(value)
        dtype = self.dtype(value)
        if value.size > LARGEST_ARRAY:
            return f"an array of {value.size} elements, which is more than is read"
        if dtype == "str" and (
            value.size > LONGEST_LIST
            or value.nbytes > LARGEST_OF_TEXTS
            or value.itemsize > LONGEST_TEXT * BYTES_OF_A_CHARACTER
        ):
            return "an array of more or longer texts than are read"
        if dtype in SIZES or dtype == "str" or TIMES.fullmatch(dtype):
            return ""
        return f"an array of dtype {dtype}"

    def to_tree(self, value: Any, message: Any) -> Any:
        obstacle = self.obstacle(value)
        if obstacle:
            return {"other": obstacle}
        if not value.shape:
            plain = value.item()
            return {"plain": plain} if isinstance(plain, PLAIN) else message.tree(plain, 0)
        dtype = self.dtype(value)
        if dtype == "str":
            return {self.message_tag: ["str", list(value.shape), value.reshape(-1).tolist(), []]}
        # A transposed view arrives as a transposed view, so that its order can be tested.
        order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
        base = value.transpose(order)
        start = message.add_numbers(base.astype(base.dtype.newbyteorder("<")).tobytes())
        back = [order.index(axis) for axis in range(value.ndim)]
        return {self.message_tag: [dtype, list(base.shape), start, back]}

    def from_tree(self, content: Any, message: Any) -> Any:
        import numpy

        dtype, shape, start, order = content
        if dtype == "str":
            texts, axes = message.read_texts(start, shape, BYTES_OF_A_CHARACTER)
            return numpy.array(texts, dtype=str).reshape(axes)
        if dtype not in SIZES and not TIMES.fullmatch(dtype):
            raise ValueError("no dtype that is read")
        numbers, axes = message.read_numbers(start, shape, SIZES.get(dtype, 8))
        if dtype == "bool":  # whatever bits were sent
            return (numpy.frombuffer(numbers, "uint8").reshape(axes) != 0).transpose(order)
        return numpy.frombuffer(numbers, numpy.dtype(dtype).newbyteorder("<")).reshape(axes).transpose(order)

    def copy(self, value: Any, with_gradient: bool) -> Any:
        # "K": a transposed view is copied as one.
        return value.copy(order="K") if isinstance(value, self.imported().ndarray) else value

    def snapshot(self, value: Any) -> Any:
        """The value as it is now; a scalar as the plain number that it is."""
        numpy = self.imported()
        if isinstance(value, numpy.generic) or (type(value) is numpy.ndarray and not value.shape):
            plain = value.item()
            return plain if type(plain) in (*PLAIN, complex) else value
        return value if value.size > LARGEST_ARRAY else self.copy(value, False)

    def draw_from(self, seed: int) -> Callable[[], None]:
        chance = getattr(self.imported(), "random", None)
        if chance is None:
            return lambda: None
        before = chance.get_state()
        chance.seed(seed)
        return lambda: chance.set_state(before)

    def identical(self, value: Any, other: Any) -> bool:
        numpy = self.imported()
        if type(value) is not type(other) or value.shape != other.shape or value.dtype != other.dtype:
            return False
        return bool(numpy.array_equal(value, other, equal_nan=value.dtype.kind in "fcmM"))


register(NumpyArrays())
