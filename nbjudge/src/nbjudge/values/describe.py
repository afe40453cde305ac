"""Values and numbers as a sentence shows them."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

from nbjudge.values.kinds import kind_of
from nbjudge.values.packing import MadeInKernel, Unreadable

MOST_NAMES = 4
LONGEST_SHORT = 60  # characters of a value in a sentence
DIGITS = 4
MOST_DIGITS = 17  # any two floats that differ do so in these


def kind(value: Any) -> str:
    if isinstance(value, Unreadable):
        return f"an object of type {value.kind}"
    owner = kind_of(value)
    if owner is not None:
        return owner.kind_and_shape(value)
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    article = "an" if isinstance(value, int) and not isinstance(value, bool) else "a"
    names = {float: "Python float", int: "int", bool: "Python bool", str: "string", dict: "dict"}
    return "None" if value is None else f"{article} {names.get(type(value), type(value).__name__)}"


def short(value: Any) -> str:
    owner = kind_of(value)
    if owner is not None:
        return owner.describe(value)
    if isinstance(value, Unreadable):
        return kind(value)
    if isinstance(value, MadeInKernel):
        return "an object"
    if isinstance(value, (list, tuple)) and 0 < len(value) <= MOST_NAMES and all(map(kind_of, value)):
        return _arrays(value)
    text = f"{value:.6g}" if isinstance(value, float) else _BRIEF.repr(value)
    if isinstance(value, dict) and len(text) > LONGEST_SHORT and any(map(kind_of, value.values())):
        return f"a dict of {len(value)} entries"
    return text if len(text) <= LONGEST_SHORT else text[: LONGEST_SHORT - 3] + "..."


def plain_text(value: Any) -> str:
    """Return a value as a sentence shows it, a text without quotation marks."""
    return short(value)[1:-1] if isinstance(value, str) and len(value) < LONGEST_SHORT else short(value)


def _arrays(values: Sequence[Any]) -> str:
    """A few arrays in a list, each whole: "a tuple of 2, each a float32 array of shape (7, 9)"."""
    texts = [short(value) for value in values]
    if len(set(texts)) == 1 < len(texts):
        return f"{kind(values)}, each {texts[0]}"
    return f"{kind(values)}: {listed(texts)}"


class _Brief(reprlib.Repr):
    """Says no more of a value than a sentence holds, however much of it there is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = LONGEST_SHORT // 3
        self.maxlevel, self.maxstring, self.maxlong = 3, LONGEST_SHORT + 4, LONGEST_SHORT

    def repr1(self, value: Any, level: int) -> str:
        if isinstance(value, (Unreadable, MadeInKernel)) or kind_of(value) is not None:
            return short(value)
        return super().repr1(value, level)


_BRIEF = _Brief()


def number(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, (float, complex)) else str(value)


def told_apart(actual: Any, expected: Any) -> tuple[str, str]:
    """Two numbers with few digits, or with as many as it takes to see that they differ."""
    values = [value.item() if hasattr(value, "item") else value for value in (actual, expected)]
    if not all(isinstance(value, float) for value in values):
        return short(values[0]), short(values[1])
    for digits in range(DIGITS, MOST_DIGITS + 1):
        actual, expected = (f"{value:.{digits}g}" for value in values)
        if actual != expected:
            break
    return actual, expected


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; of more than a few the first and how many follow."""
    if len(words) > MOST_NAMES + 1:
        words = [*words[:MOST_NAMES], f"{len(words) - MOST_NAMES} more"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}" if words else ""
