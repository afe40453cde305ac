"""Plain values as JSON, tensors as safetensors, and nothing else: how questions and answers travel.

Part of what runs in the student's kernel, see `respond`.
"""

import base64
import json
import marshal
from functools import lru_cache
from typing import Any

import torch
from safetensors.torch import load, save

LARGEST_TENSOR = 2**22  # elements
LONGEST_TEXT = 20_000  # characters
LONGEST_LIST = 10_000  # entries
DEEPEST_NEST = 8
LONGEST_TREE = 2**23  # characters of base64
MOST_AXES = 16
# Of one message, whatever refers to whatever: what its reader does with it is bounded by these.
MOST_ENTRIES = 200_000
MOST_ELEMENTS = 2**25  # of all tensors, each counted as often as it is referred to
LARGEST_INDEX = 2**21  # bytes of safetensors' own list of names and shapes


def pack(value: Any) -> str:
    """Turn plain values and tensors into text; anything else becomes the name of its type.

    The text is two words of base64, so that its `repr` is itself between quotes: whoever reads it
    from a kernel evaluates nothing.
    """
    tensors: dict[str, torch.Tensor] = {}
    tree = json.dumps(_to_tree(value, tensors, 0)).encode()
    return f"{base64.b64encode(tree).decode()} {base64.b64encode(save(tensors)).decode()}"


def unpack(text: str, with_code: bool = False) -> Any:
    """The value that `pack` packed; `Made` things only `with_code`, which nobody's answer is read with.

    Raises ValueError, KeyError or the like for anything else.
    """
    packed_tree, _, packed_tensors = text.partition(" ")
    if len(packed_tree) > LONGEST_TREE:
        raise ValueError("more than is read")
    tree, blob = base64.b64decode(packed_tree), base64.b64decode(packed_tensors)
    # An entry takes two brackets at most, and a comma: so many are no tree of ours.
    if tree.count(b"{") + tree.count(b"[") + tree.count(b",") > 4 * MOST_ENTRIES:
        raise ValueError("more entries than are read")
    if int.from_bytes(blob[:8], "little") > LARGEST_INDEX:
        raise ValueError("more tensors than are read")
    return _Tree(load(blob), with_code).read(json.loads(tree), DEEPEST_NEST + 2)


def why_it_cannot_travel(value: Any, depth: int = 0) -> str:
    """What of a question no kernel could be sent, as the end of a sentence; empty where all of it can."""
    if isinstance(value, Made):
        return why_it_cannot_travel(value.given, depth + 1)
    if isinstance(value, (list, tuple, dict)):
        if depth > DEEPEST_NEST or len(value) > LONGEST_LIST:
            return "what is nested too deeply or holds too many entries"
        entries = value.values() if isinstance(value, dict) else value
        return next((said for entry in entries if (said := why_it_cannot_travel(entry, depth + 1))), "")
    tree = _to_tree(value, {}, depth)
    return f"{tree['other']}, which is neither a plain value nor a tensor" if "other" in tree else ""


def _to_tree(value: Any, tensors: dict[str, torch.Tensor], depth: int) -> dict[str, Any]:
    kind = type(value)
    if depth > DEEPEST_NEST:
        return {"other": "something nested too deeply"}
    if kind in (torch.Tensor, torch.nn.Parameter):
        return _tensor_to_tree(value, tensors)
    if value is None or kind in (bool, int):
        return {"plain": value}
    if isinstance(value, float):
        return {"plain": float(value)}
    if isinstance(value, str):
        return {"plain": value[:LONGEST_TEXT]}
    # Read as what they are at bottom: a class of somebody's own may compute when it is read.
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
        base: Any = tuple if isinstance(value, tuple) else list
        return {base.__name__: [_to_tree(entry, tensors, depth + 1) for entry in base.__iter__(value)]}
    if isinstance(value, dict) and len(value) <= LONGEST_LIST:
        entries = [[str(key), _to_tree(entry, tensors, depth + 1)] for key, entry in dict.items(value)]
        return {"dict": entries}
    if isinstance(value, Made):
        return {"made": [value.compiled(), _to_tree(value.given, tensors, depth + 1)]}
    return {"other": f"{kind.__module__}.{kind.__qualname__}"[:LONGEST_TEXT]}


def _tensor_to_tree(tensor: torch.Tensor, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    tensor = tensor.detach()
    if tensor.layout != torch.strided or tensor.is_complex() or tensor.is_quantized:
        return {"other": f"a tensor of layout {tensor.layout} and dtype {tensor.dtype}"}
    if tensor.numel() > LARGEST_TENSOR:
        return {"other": f"a tensor of {tensor.numel()} elements, which is more than is read"}
    # A transposed view arrives as a transposed view, so that contiguity can be tested.
    order = sorted(range(tensor.dim()), key=lambda axis: -tensor.stride()[axis])
    base = tensor.permute(order)
    name = str(len(tensors))
    tensors[name] = base.clone(memory_format=torch.contiguous_format).cpu()
    back = [order.index(axis) for axis in range(tensor.dim())]
    return {"tensor": name, "order": back} if back != sorted(back) else {"tensor": name}


class _Tree:
    """What has been read of a message, which is no more than anybody asks for."""

    def __init__(self, tensors: dict[str, torch.Tensor], with_code: bool) -> None:
        self._tensors, self._with_code = tensors, with_code
        self._entries, self._elements = MOST_ENTRIES, MOST_ELEMENTS

    def read(self, tree: dict[str, Any], deep: int) -> Any:
        """The value of a tree that is at most so deep."""
        self._entries -= 1
        if self._entries < 0 or deep < 0:
            raise ValueError("more entries than are read")
        (kind,) = tree.keys() - {"order"}
        content = tree[kind]
        if kind == "tensor":
            return self._tensor(content, tree.get("order"))
        if kind in ("list", "tuple"):
            entries = [self.read(entry, deep - 1) for entry in content]
            return tuple(entries) if kind == "tuple" else entries
        if kind == "dict":
            return {str(key)[:LONGEST_TEXT]: self.read(entry, deep - 1) for key, entry in content}
        if kind == "plain" and (content is None or type(content) in (bool, int, float, str)):
            return content
        if kind == "made" and self._with_code:
            code, given = content
            return Made("", self.read(given, deep - 1), str(code))
        if kind == "other":
            return Unreadable(str(content)[:LONGEST_TEXT])
        raise ValueError(f"not something a kernel may send: {str(kind)[:100]}")

    def _tensor(self, name: str, order: list[int] | None) -> torch.Tensor:
        tensor = self._tensors[name]
        self._elements -= tensor.numel()
        if self._elements < 0 or tensor.dim() > MOST_AXES:
            raise ValueError("more numbers than are read")
        return tensor if order is None else tensor.permute(order)


class Made:
    """An argument that the judge's own code makes in the kernel: `code` defines the name `made`.

    For callables and torch modules, which do not travel. `given` holds plain values and tensors
    that the code finds as names, beside torch, nn, F and math. The code travels compiled: its
    text, comments included, is not in the kernel. In an answer it means nothing.
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
        """What is executed. Only the side that was asked reads what was received, never the judge."""
        if self._received:
            return marshal.loads(base64.b64decode(self._received))
        return _compiled(self.code)


@lru_cache(maxsize=256)
def _compiled(code: str) -> Any:
    return compile(code, "<nbjudge>", "exec")


class Unreadable:
    """Stands for a returned object that is neither a plain value nor an ordinary tensor."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
