"""NumPy's arrays as a kind of value, and what all kinds of arrays share.

A scalar of NumPy's (`numpy.int64(3)`, or an array without axes) counts as the plain number that it is.

Part of what runs in the student's kernel, see `nbjudge.kernel.requests`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from nbjudge.values.kinds import Kind, kind_of, register
from nbjudge.values.packing import LARGEST_ARRAY, LONGEST_LIST

SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
SIZES |= {"int64": 8, "uint64": 8, "float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
TIMES = re.compile(r"(?:datetime|timedelta)64\[(?:Y|M|W|D|h|m|s|ms|us|ns)\]")
PLAIN = (bool, int, float, str)
DOUBLE = ("float64", "complex128")


class ArrayKind(Kind):
    """A kind whose values have axes, one dtype, and a NumPy array of the same numbers."""

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
    """Whether a value is an array or a tensor."""
    return isinstance(kind_of(value), ArrayKind)


class NumpyArrays(ArrayKind):
    """`numpy.ndarray`, of numbers, truth values, times or texts."""

    wire_name = "array"
    library = "numpy"
    names = {"np": "numpy"}
    noun = "array"

    def owns(self, value: Any) -> bool:
        return isinstance(value, self.classes("ndarray", "generic"))

    def as_numbers(self, value: Any) -> Any:
        return value

    def dtype(self, value: Any) -> str:
        return "str" if value.dtype.kind == "U" else str(value.dtype)

    def zeros_like(self, value: Any) -> Any:
        return self.imported().zeros_like(value)

    def rolled(self, value: Any, axis: int) -> Any:
        return self.imported().roll(value, 1, axis=axis)

    def to_tree(self, value: Any, message: Any) -> dict[str, Any] | None:
        numpy = self.imported()
        if isinstance(value, numpy.generic) or (type(value) is numpy.ndarray and not value.shape):
            plain = value.item()
            return {"plain": plain} if type(plain) in PLAIN else None
        if type(value) is not numpy.ndarray:  # a student's class may compute when it is read
            return None
        dtype = self.dtype(value)
        if value.size > LARGEST_ARRAY:
            return {"other": f"an array of {value.size} elements, which is more than is read"}
        if dtype == "str" and value.size <= LONGEST_LIST:
            return {self.wire_name: ["str", list(value.shape), value.reshape(-1).tolist(), []]}
        if dtype not in SIZES and not TIMES.fullmatch(dtype):
            return {"other": f"an array of dtype {dtype}"}
        # A transposed view arrives as a transposed view, so that its order can be tested.
        order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
        base = value.transpose(order)
        start = message.add_numbers(base.astype(base.dtype.newbyteorder("<")).tobytes())
        return {
            self.wire_name: [
                dtype,
                list(base.shape),
                start,
                [order.index(axis) for axis in range(value.ndim)],
            ]
        }

    def from_tree(self, content: Any, message: Any) -> Any:
        import numpy

        dtype, shape, start, order = content
        if dtype == "str":
            if not all(isinstance(text, str) for text in start):
                raise ValueError("no texts")
            _, axes = message.read_numbers(0, shape, 0)
            return numpy.array(start, dtype=str).reshape(axes)
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
            return plain if type(plain) in PLAIN else value
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
