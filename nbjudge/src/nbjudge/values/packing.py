"""How calls and answers travel: plain values as JSON, the numbers of arrays as bytes, and nothing else.

Nothing that is received is executed or unpickled: a message's reader builds what its writer may have meant,
within bounds, or raises.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

# `compile` below takes it over: annotations of code that is sent along are not evaluated in the kernel.
from __future__ import annotations
import __future__

import base64
import importlib
import json
import marshal
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

from nbjudge.values.kinds import (
    KINDS,
    LONGEST_LIST,
    LONGEST_TEXT,
    PLAIN,
    Kind,
    change_leaves,
    kind_of,
    type_names,
)

DEEPEST_NEST = 8
LONGEST_TREE = 2**23  # characters of base64
MOST_DIGITS = 4_300  # of a whole number: Python reads no more, for that takes long
LARGEST_WHOLE = 10**MOST_DIGITS
MOST_AXES = 16
# Of one message, whatever refers to whatever: what its reader does with it is bounded by these.
MOST_ENTRIES = 200_000
MOST_ELEMENTS = 2**25  # of all arrays, each counted as often as it is referred to
MOST_REFERRED_TO = 2**26  # bytes of all arrays of an answer, counted likewise, besides 4 x what was sent
MOST_KEYS_OF_ONE_HASH = 100  # of a dict's numbers and tuples
ALIGNED_TO = 16  # bytes
PLAIN_NODES = (type(None), bool, int, float, str)


def pack(value: Any) -> str:
    """Turn plain values and values of a known kind into text; of anything else the name of its type.

    The text is two words of base64, so that its `repr` is itself between quotes: code that reads it
    from a kernel evaluates nothing.
    """
    message = Message()
    tree = json.dumps(message.tree(value, 0)).encode()
    return f"{base64.b64encode(tree).decode()} {base64.b64encode(message.numbers).decode()}"


def unpack(text: str | bytes, with_code: bool = False) -> Any:
    """The value that `pack` packed; code only `with_code`, which answers are never read with.

    Raises ValueError, KeyError or the like for anything else.
    """
    packed = text.encode() if isinstance(text, str) else text
    end = packed.find(b" ")
    end = len(packed) if end < 0 else end
    if end > LONGEST_TREE:
        raise ValueError("more than is read")
    parts = memoryview(packed)  # none of its millions of characters is copied
    tree = base64.b64decode(parts[:end])
    # An entry takes two brackets at most, and a comma: so many are no tree of ours.
    if tree.count(b"{") + tree.count(b"[") + tree.count(b",") > 4 * MOST_ENTRIES:
        raise ValueError("more entries than are read")
    message = Message(bytearray(base64.b64decode(parts[end + 1 :])), with_code)
    return message.value(json.loads(tree), DEEPEST_NEST + 2)


def is_plain_key(key: Any, deep: int = DEEPEST_NEST) -> bool:
    """Return whether a dict's key travels as what it is: None, a number, text, or a tuple of these."""
    if isinstance(key, tuple):
        return deep > 0 and len(key) <= LONGEST_LIST and all(is_plain_key(each, deep - 1) for each in key)
    if type(key) in PLAIN_NODES or isinstance(key, (float, str)):  # others, such as an IntEnum, as text
        return True
    owner = kind_of(key)
    return owner is not None and type(owner.snapshot(key)) in PLAIN  # a number of NumPy's


class Message:
    """A message while it is written or read: a tree of plain values, and the bytes of its arrays.

    Of what is read there is no more than anybody asks for.
    """

    def __init__(self, numbers: bytearray | None = None, with_code: bool = False) -> None:
        self.numbers = bytearray() if numbers is None else numbers
        self._with_code = with_code
        self._entries, self._elements = MOST_ENTRIES, MOST_ELEMENTS
        self._starts: dict[bytes, int] = {}  # where numbers begin that are written already
        self._nodes: dict[int, tuple[Any, Any]] = {}  # id of a value -> the value, kept alive, and its node
        self._handed_out = set[int]()
        self._bytes = MOST_REFERRED_TO + 4 * len(self.numbers)

    def tree(self, value: Any, depth: int) -> Any:
        """A value as a node: a plain value itself, or a dict of one entry: what it is, and its content."""
        kind = type(value)
        if depth > DEEPEST_NEST:
            return {"other": "something nested too deeply"}
        if kind is int and not -LARGEST_WHOLE < value < LARGEST_WHOLE:
            return {"other": f"a whole number of more than {MOST_DIGITS:,} digits"}
        if value is None or kind in (bool, int, float):
            return value
        if isinstance(value, float):
            return float(value)
        if isinstance(value, str):
            if str.__len__(value) > LONGEST_TEXT:
                return {"other": f"a text of {str.__len__(value):,} characters"}
            return str.__getitem__(value, slice(None))
        if isinstance(value, complex):  # NumPy's is one, too
            return {"complex": [float(value.real), float(value.imag)]}
        owner = kind_of(value)
        if owner is not None:
            if id(value) not in self._nodes:  # a layer's weights come with each of its calls
                self._nodes[id(value)] = value, owner.to_tree(value, self)
            return self._nodes[id(value)][1]
        # Read as what they are at bottom: a student's class may compute when it is read.
        if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
            base: Any = tuple if isinstance(value, tuple) else list
            return {base.__name__: [self.tree(entry, depth + 1) for entry in base.__iter__(value)]}
        if isinstance(value, dict) and len(value) <= LONGEST_LIST:
            return {
                "dict": [[self._key(key), self.tree(entry, depth + 1)] for key, entry in dict.items(value)]
            }
        if isinstance(value, (set, frozenset)) and len(value) <= LONGEST_LIST:
            base = frozenset if isinstance(value, frozenset) else set
            entries = list(base.__iter__(value))
            if all(map(is_plain_key, entries)):
                return {base.__name__: [self.tree(entry, 0) for entry in entries]}
        if kind is bytes and len(value) <= LONGEST_TEXT:
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, MadeInKernel):
            return {"made": [value.compiled(), self.tree(value.given, depth + 1)]}
        return {"other": type_names(value)}

    def value(self, tree: Any, deep: int) -> Any:
        """The value of a node that is at most so deep."""
        self._entries -= 1
        if self._entries < 0 or deep < 0:
            raise ValueError("more entries than are read")
        if type(tree) in PLAIN_NODES:
            return tree
        if type(tree) is not dict:
            raise ValueError("no node of a message")
        ((kind, content),) = tree.items()
        if kind in ("list", "tuple"):
            entries = [self.value(entry, deep - 1) for entry in content]
            return tuple(entries) if kind == "tuple" else entries
        if kind == "dict":
            keys = self._read_keys([key for key, _ in content], deep)
            return dict(zip(keys, [self.value(entry, deep - 1) for _, entry in content], strict=True))
        if kind == "plain" and type(content) in PLAIN_NODES:  # a number of NumPy's
            return content
        if kind in ("set", "frozenset"):
            return (set if kind == "set" else frozenset)(self._read_keys(content, deep))
        if kind == "complex":
            real, imaginary = content
            return complex(float(real), float(imaginary))
        if kind == "bytes":
            return base64.b64decode(content)[:LONGEST_TEXT]
        if kind == "made" and self._with_code:
            code, given = content
            return MadeInKernel("", self.value(given, deep - 1), str(code))
        if kind == "other":
            return UnreadableValue(str(content)[:LONGEST_TEXT])
        for owner in KINDS:
            if kind == owner.message_tag:
                return owner.from_tree(content, self)
        raise ValueError(f"not something a kernel may send: {str(kind)[:100]}")

    def _key(self, key: Any) -> Any:
        """Return a key as a node, or the text of a key that is not plain."""
        return str(key)[:LONGEST_TEXT] if isinstance(key, str) or not is_plain_key(key) else self.tree(key, 0)

    def _read_keys(self, trees: list[Any], deep: int) -> list[Any]:
        """Return keys of a dict, or the entries of a set."""
        keys = [self.value(tree, deep - 1) for tree in trees]
        if not all(map(is_plain_key, keys)):
            raise ValueError("no key of a dict")
        # Of texts alone no one can know beforehand which have one hash, and so take long to look up.
        hashes = sorted(hash(key) for key in keys if type(key) is not str)
        if any(map(int.__eq__, hashes, hashes[MOST_KEYS_OF_ONE_HASH:])):
            raise ValueError("keys that take long to look up")
        return [key[:LONGEST_TEXT] if isinstance(key, str) else key for key in keys]

    def add_numbers(self, numbers: bytes) -> int:
        """Put an array's bytes into the message; where they begin. The same bytes are there once."""
        if numbers in self._starts:
            return self._starts[numbers]
        self.numbers.extend(bytes(-len(self.numbers) % ALIGNED_TO))
        start = len(self.numbers)
        self.numbers.extend(numbers)
        self._starts[numbers] = start
        return start

    def read_numbers(self, start: Any, shape: Any, size: int) -> tuple[memoryview, tuple[int, ...]]:
        """The bytes of an array whose elements have `size` bytes, and its shape, if both can be true."""
        axes = [axis for axis in shape if type(axis) is int and 0 <= axis <= MOST_ELEMENTS]
        if len(axes) != len(shape) or len(axes) > MOST_AXES or type(start) is not int or start < 0:
            raise ValueError("no shape that is read")
        count = 1
        for axis in axes:
            count *= axis
        self._elements -= count
        self._bytes -= count * size
        if (
            self._elements < 0
            or (self._bytes < 0 and not self._with_code)
            or start + count * size > len(self.numbers)
        ):
            raise ValueError("more numbers than are read, or than were sent")
        found = memoryview(self.numbers)[start : start + count * size]
        if start in self._handed_out:  # each array has numbers of its own, which it may change
            found = memoryview(bytearray(found))
        self._handed_out.add(start)
        return found, tuple(axes)

    def read_texts(self, texts: Any, shape: Any, size: int) -> tuple[list[str], tuple[int, ...]]:
        """An array's texts and its shape; what is built of them, as long as the longest each, counts."""
        if type(texts) is not list or not all(type(text) is str for text in texts):
            raise ValueError("no texts")
        longest = max(map(len, texts), default=0)
        self._entries -= len(texts)
        self._bytes -= len(texts) * longest * size
        if self._entries < 0 or self._bytes < 0 or longest > LONGEST_TEXT:
            raise ValueError("more texts than are read")
        return texts, self.read_numbers(0, shape, 0)[1]


class MadeInKernel:
    """An argument that the judge's own code makes in the kernel: `code` defines the name `made`.

    For callables and objects, which do not travel. `given` holds values that the code finds as names,
    beside math and the libraries that the checks use (np, pd; torch, nn, F). The code travels compiled:
    its text, comments included, is not in the kernel. In an answer it means nothing.
    """

    def __init__(self, code: str, given: dict[str, Any] | None = None, received: str = "") -> None:
        self.code = code
        self.given = given or {}
        self._received = received

    def compiled(self) -> str:
        """The code as text that is no source; what was received is handed on as it came."""
        if not self._received:
            self._received = base64.b64encode(marshal.dumps(self.code_object())).decode()
        return self._received

    def code_object(self) -> Any:
        """Return what is executed. Only the side that was asked reads what was received, never the judge."""
        if self._received:
            return marshal.loads(base64.b64decode(self._received))
        return compile_for_kernel(self.code)


@lru_cache(maxsize=256)
def compile_for_kernel(code: str) -> CodeType:
    """Compile code of the checks without docstrings, and with annotations that no kernel evaluates."""
    flags = __future__.annotations.compiler_flag
    return compile(code, "<nbjudge>", "exec", flags, dont_inherit=True, optimize=2)


class UnreadableValue:
    """Stands for a returned object that is neither a plain value nor one of a known kind.

    `kind` is what it is in words, or the names of its types, see `type_names`.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind


def make(value: MadeInKernel) -> Any:
    """Run the judge's own code: it makes an argument, or a function that calls the answer."""
    code = value.code_object()
    known = {name: module for kind in KINDS for name, module in kind.names.items()} | {"math": "math"}
    space: dict[str, Any] = {
        name: importlib.import_module(known[name]) for name in names_in(code) & known.keys()
    }
    space |= copy_value(value.given)  # an object may keep these as its own, and be changed
    exec(code, space)
    return space["made"]


def names_in(code: CodeType) -> set[str]:
    """The names that code looks up outside of itself, or as attributes."""
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(names_in, inside))


def copy_value(value: Any, needs_gradients: bool = False) -> Any:
    """A copy of nested values; what is made in the kernel is made again."""
    return change_leaves(value, lambda leaf: _copy(leaf, lambda kind: kind.copy(leaf, needs_gradients)))


def copy_within_graph(value: Any) -> Any:
    """Copy what an answer gets where gradients are asked for: it may write there, and they still flow."""
    return change_leaves(value, lambda leaf: _copy(leaf, lambda kind: kind.copy_within_graph(leaf)))


def _copy(leaf: Any, copy: Callable[[Kind], Any]) -> Any:
    if isinstance(leaf, MadeInKernel):
        return make(leaf)
    kind = kind_of(leaf)
    if kind is None:
        return set(leaf) if isinstance(leaf, set) else leaf
    return copy(kind)
