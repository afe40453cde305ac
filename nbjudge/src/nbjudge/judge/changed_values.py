"""Changed arguments for the retest: other values that keep what an exercise may rely on.

Shapes, dtypes, lengths and the words of texts stay. In an array of flags whole rows move, or each row loses
one True of several: rows that begin with all their True still do. A sorted list stays sorted, and distinct
entries stay distinct.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nbjudge.values.kinds import ArrayKind, kind_of, leaves

# What is changed beside floating numbers, most of it first, because the reference may refuse some of it.
# "repeated word": the first word of a text takes the last one's place; otherwise all words move.
VARIANTS = (
    {"whole numbers", "flags", "texts", "lists"},
    {"whole numbers", "flags", "repeated word", "lists"},
    {"whole numbers", "flags"},
    {"whole numbers"},
    {"flags"},
    set[str](),
)


def changed_values(arguments: Any, factor: float, short_texts: Sequence[str] = ()) -> Iterator[Any]:
    """Yield copies of nested tuples and dicts of arguments, the one with the most changes first; none twice.

    There are several, because not every reference answers every change. Floating numbers are multiplied by
    `factor`, single numbers and flags stay, and one of `short_texts`, the texts of one word in all calls of
    the group, becomes the next.
    """
    present = set(_kinds_present(arguments))
    tried = list[set[str]]()
    for variant in VARIANTS:
        if (chosen := variant & present) not in tried:
            tried.append(chosen)
            yield _Change(chosen, factor, short_texts).apply(arguments)


def special_numbers(value: Any) -> set[str]:
    """Return which of "nan" and "inf" are in the arrays and floats of nested lists, tuples and dicts."""
    found = set[str]()
    for _, leaf in leaves(value):
        kind = kind_of(leaf)
        if isinstance(kind, ArrayKind) and kind.is_floating(leaf):
            numbers = kind.as_numbers(leaf)
            found |= {"nan"} if (numbers != numbers).any() else set()
            found |= {"inf"} if (abs(numbers) == math.inf).any() else set()
        elif isinstance(leaf, float) and not math.isfinite(leaf):
            found.add("nan" if math.isnan(leaf) else "inf")
    return found


def texts_of_one_word(value: Any) -> Iterator[str]:
    """Yield the texts without a space in nested tuples and dicts, which may be names of a choice."""
    if isinstance(value, (tuple, dict)):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from texts_of_one_word(entry)
    elif isinstance(value, str) and len(value.split()) == 1:
        yield value


def _kinds_present(value: Any) -> Iterator[str]:
    if isinstance(value, (list, tuple, dict)):
        if _entry_type(value) is not None:
            yield "lists"
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _kinds_present(entry)
    elif isinstance(value, str):
        yield from ("texts", "repeated word")
    elif isinstance(kind := kind_of(value), ArrayKind) and len(value.shape):
        if kind.dtype(value) == "bool":
            yield "flags"
        elif not kind.is_floating(value):
            yield "whole numbers"


def _entry_type(value: Any) -> type | None:
    """Return the type of a list's entries if all are numbers, flags or texts of one type."""
    types = {type(entry) for entry in value} if type(value) is list and len(value) > 1 else set()
    return types.pop() if len(types) == 1 and types <= {bool, int, float, str} else None


class _Change:
    """One way of changing arguments."""

    def __init__(self, chosen: set[str], factor: float, short_texts: Sequence[str]) -> None:
        self._chosen, self._factor, self._short_texts = chosen, factor, short_texts

    def apply(self, value: Any) -> Any:
        entry_type = _entry_type(value) if "lists" in self._chosen else None
        if entry_type is not None:
            return self._changed_list(value, entry_type)
        if isinstance(value, (list, tuple)):
            return type(value)(self.apply(entry) for entry in value)
        if isinstance(value, dict):
            return {key: self.apply(entry) for key, entry in value.items()}
        if isinstance(value, str):
            return self._changed_text(value)
        kind = kind_of(value)
        return self._changed_array(kind, value) if isinstance(kind, ArrayKind) else value

    def _changed_array(self, kind: ArrayKind, array: Any) -> Any:
        # A power of two is exact, and halves mostly keep what matters: signs, infinities, large numbers.
        if kind.is_floating(array):
            return array * self._factor
        if not len(array.shape):
            return array
        if kind.dtype(array) == "bool":
            return _changed_flags(kind, array) if "flags" in self._chosen else array
        # Whole numbers move along the last axis: a permutation stays one, and all stay in their range.
        is_moved = "whole numbers" in self._chosen and kind.dtype(array).startswith(("int", "uint", "str"))
        return kind.rolled(array, -1) if is_moved else array

    def _changed_text(self, text: str) -> str:
        words = text.split()
        if len(words) > 1 and "repeated word" in self._chosen:
            return " ".join([*words[:-1], words[0]])
        if "texts" not in self._chosen or not words:
            return text
        if len(words) > 1:
            return " ".join([*words[1:], words[0]])
        if text not in self._short_texts:
            return text
        return self._short_texts[(self._short_texts.index(text) + 1) % len(self._short_texts)]

    def _changed_list(self, entries: list[Any], entry_type: type) -> list[Any]:
        if entry_type is float:
            return [entry * self._factor for entry in entries]
        if entry_type is bool:
            hidden = _last_of_several(entries)
            return [entry and index != hidden for index, entry in enumerate(entries)]
        if entry_type is int:
            # Numbers change, and stay in their range: a sorted list stays sorted, a permutation stays one.
            lowest, highest = min(entries), max(entries)
            return [lowest + highest - entry for entry in reversed(entries)]
        texts = [self._changed_text(text) if len(text.split()) > 1 else text for text in entries]
        return texts if entries == sorted(entries) else [*texts[1:], texts[0]]


def _changed_flags(kind: ArrayKind, flags: Any) -> Any:
    for axis in range(-2, -len(flags.shape) - 1, -1):
        moved = kind.rolled(flags, axis)
        if not kind.identical(moved, flags):
            return moved
    if 0 in flags.shape:
        return flags
    any_row = kind.as_numbers(flags).reshape(-1, flags.shape[-1])[0]  # all are equal
    hidden = _last_of_several(any_row.tolist())
    if hidden is None:
        return flags
    changed = kind.copy(flags, False)
    changed[..., hidden] = False
    return changed


def _last_of_several(row: list[bool]) -> int | None:
    """Return the index of the True beside the padding; None if the row has only one True."""
    visible = [index for index, entry in enumerate(row) if entry]
    if len(visible) < 2:
        return None
    return visible[-1] if row[0] else visible[0]
