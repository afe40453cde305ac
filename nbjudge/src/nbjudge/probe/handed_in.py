"""Whether what an answer is handed is left as it was: arrays, lists, dicts and objects.

Part of what runs in the student's kernel, see `nbjudge.kernel.requests`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbjudge.values.kinds import kind_of, owned_values

MOST_PARTS = 3_000  # of everything that is handed over: a model has some hundred
DEEPEST_PART = 12
# What the user of an object may change about it, and what a check asks for by itself.
NOT_COMPARED = frozenset({"training"})
UNCHANGEABLE = (bool, int, float, complex, str, bytes, type(None))


class CallArguments:
    """The arguments of one call, `handed`: a copy of what the judge `sent`, for this call alone.

    Places are paths like "/args/0/2"; those of an object's own parts have dots: "/args/0._buffers.mean".
    """

    def __init__(self, handed: dict[str, Any], sent: dict[str, Any]) -> None:
        self.handed = handed
        self._sent = sent
        self._before = _parts(handed)

    def changed(self) -> list[str]:
        """The places that hold something else now, without those within one that is named already."""
        arrays = dict(owned_values(self.handed))
        changed = [place for place, sent in owned_values(self._sent) if not _is_same(sent, arrays.get(place))]
        after, places = _parts(self.handed), list[str]()
        for place, part in self._before.items():
            if not _is_same(part, after.get(place)) and not place.startswith(tuple(places)):
                places.append(place)
        return changed + places


def _parts(handed: Any) -> dict[str, Any]:
    """Place -> what can be compared there, in the order in which it is come across."""
    parts: dict[str, Any] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, Any, int]] = [("", handed, 0)]
    while waiting and len(parts) < MOST_PARTS:
        place, value, depth = waiting.pop()
        inside: list[tuple[str, Any]] = []
        kind = kind_of(value)
        if kind is not None:
            if "." in place:  # those outside of objects are compared with what was sent
                parts[place] = kind.snapshot(value)
                inside = [(f"{place}.{name}", each) for name, each in kind.companions(value).items()]
        elif isinstance(value, UNCHANGEABLE):
            parts[place] = value
        elif id(value) not in seen and depth < DEEPEST_PART:
            seen.add(id(value))
            own = place if isinstance(value, (list, tuple, Mapping)) else f"{place}."
            parts[own], inside = _container(place, value)
        waiting += [(where, each, depth + 1) for where, each in reversed(inside)]
    return parts


def _container(place: str, value: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """What shows that a container holds other things than before, and what it holds."""
    separator = "." if "." in place else "/"
    if isinstance(value, (list, tuple)):
        return len(value), [(f"{place}{separator}{index}", each) for index, each in enumerate(value)]
    if isinstance(value, Mapping):
        names = [key if isinstance(key, str) else str(index) for index, key in enumerate(value)]
        return names, [
            (f"{place}{separator}{name}", each) for name, each in zip(names, value.values(), strict=True)
        ]
    if isinstance(value, (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)):
        return None, []
    attributes = vars(value) if hasattr(value, "__dict__") else {}
    names = [name for name in attributes if name not in NOT_COMPARED]
    return sorted(names), [(f"{place}.{name}", attributes[name]) for name in names]


def _is_same(part: Any, other: Any) -> bool:
    kind = kind_of(part)
    if kind is not None:
        return kind.identical(part, other)
    return type(part) is type(other) and bool(part == other or (part != part and other != other))
