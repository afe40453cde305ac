"""What no message between grader and kernel could carry: the author of a check is told so.

It asks `packing.Message` about each value, and adds up what they take together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbjudge.values.kinds import KINDS, LONGEST_LIST, ArrayKind, kind_of
from nbjudge.values.packing import (
    DEEPEST_NEST,
    LONGEST_TREE,
    MOST_ENTRIES,
    MadeInKernel,
    Message,
    is_plain_key,
)

MOST_NUMBERS = 40 * 2**20  # bytes of arrays that fit into a reply, see `kernel.protocol.LARGEST_REPLY`
OVERHEAD_OF_A_NODE = 25  # characters: a number, or brackets and the word that says what it is


def why_it_cannot_travel(value: Any) -> str:
    """What of a value no message could carry, as the end of a sentence; empty where all of it can.

    The numbers of arrays, which may be many, are not looked at.
    """
    size = _Size()
    return _obstacle(value, 0, size) or size.excess()


@dataclass
class _Size:
    """How much of a message some values take, rounded up."""

    entries: int = 0
    characters: int = 0  # of the tree, as base64
    numbers: int = 0  # bytes of arrays

    def excess(self) -> str:
        """What is more than one message carries; a quarter is left for what comes along in a reply."""
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
