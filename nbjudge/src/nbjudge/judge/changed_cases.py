"""Cases with other arguments: for the retest, and to find the cause of a wrong result.

The retest has other values that keep what an exercise may rely on. Shapes, dtypes, lengths and the words of
texts stay. In an array of flags whole rows move, or each row loses one True of several: rows that begin with
all their True still do. A sorted list stays sorted, and distinct entries stay distinct.

A wrong result that is right for a case with other arguments or weights has its cause there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.values.kinds import ArrayKind, kind_of, leaves

MOST_NUMBERS = 100_000  # of an array of which changed copies are made
Change = tuple[str, Any]  # the words that follow an argument's name, and what it is then


def other_cases(case: Case, names: Sequence[str]) -> Iterator[tuple[str, Case]]:
    """Yield cases that differ from `case` in one thing, each behind the clause that says in which.

    `names` are those of all arguments of the answer, also of those that the case does not give.
    """
    given = {**dict(zip(names, case.args, strict=False)), **case.kwargs}
    arrays = {name: value for name, value in given.items() if isinstance(kind_of(value), ArrayKind)}

    def called(**changed: Any) -> Case:
        count = len(case.args)
        args = tuple(changed.get(name, value) for name, value in zip(names, case.args, strict=False))
        kwargs = {
            **case.kwargs,
            **{name: value for name, value in changed.items() if name not in names[:count]},
        }
        return replace(case, args=(*args, *case.args[len(args) :]), kwargs=kwargs)

    for name, fewer in _without_arguments(case, names):
        yield f"`{name}` had not been given: it is not used", fewer
    for name, value in given.items():
        for words, other in _changes(value):
            yield f"`{name}` were {words}", called(**{name: other})
        alike = [each for each, array in arrays.items() if each != name and _alike(array, value)]
        for other_name in alike:
            yield f"`{other_name}` were in the place of `{name}`", called(**{name: given[other_name]})
    for name in names:
        if name not in given:
            for other_name, array in arrays.items():
                yield f"`{name}` were `{other_name}`, and not left out", called(**{name: array})
    for one, other in combinations(arrays, 2):
        if _alike(arrays[one], arrays[other]):
            yield f"`{one}` and `{other}` were exchanged", called(**{one: given[other], other: given[one]})
    state = getattr(case.build, "state", None)
    for words, weights in _other_weights(state) if state else ():
        yield words, replace(case, build=replace(case.build, state=weights))  # type: ignore[type-var]


def _without_arguments(case: Case, names: Sequence[str]) -> Iterator[tuple[str, Case]]:
    """Leave out each argument: a positional one with all behind it, and with those given by name."""
    for end in range(min(len(case.args), len(names)) - 1, 0, -1):
        yield names[end], replace(case, args=case.args[:end], kwargs={})
    for name in case.kwargs:
        rest = {other: value for other, value in case.kwargs.items() if other != name}
        yield name, replace(case, kwargs=rest)


def _alike(one: Any, other: Any) -> bool:
    kind = kind_of(one)
    return isinstance(kind, ArrayKind) and kind is kind_of(other) and kind.dtype(one) == kind.dtype(other)


def _changes(value: Any) -> Iterator[Change]:
    kind = kind_of(value)
    if isinstance(kind, ArrayKind):
        if math.prod(value.shape) <= MOST_NUMBERS:
            yield from _changed_arrays(kind, value)
    elif type(value) is int:
        yield from ((f"{other} instead of {value}", other) for other in (value - 1, value + 1, 2 * value))
    elif isinstance(value, (list, tuple)) and len(value) > 1:
        form = type(value)
        yield "in reverse order", form(value[::-1])
        yield "without its first entry", form(value[1:])
        yield "without its last entry", form(value[:-1])
        yield "its first entry again and again", form([value[0]] * len(value))


def _changed_arrays(kind: ArrayKind, array: Any) -> Iterator[Change]:
    flags, axes = kind.dtype(array) == "bool", range(len(array.shape))
    if flags:
        yield "inverted", ~array
    elif kind.is_floating(array):
        yield "negated", -array
        yield "doubled", 2 * array
        yield "halved", array / 2
    if len(axes) > 1 and array.shape[-1] == array.shape[-2]:
        yield "transposed", kind.copy(array.swapaxes(-1, -2), False)
    for axis in axes:
        size = array.shape[axis]
        if size < 2:
            continue
        before, along = (slice(None),) * axis, f"along axis {axis}"
        yield f"reversed {along}", array[(*before, list(range(size))[::-1])]
        for place, word in ((0, "first"), (size - 1, "last")):
            yield f"its {word} entry for all {along}", array[(*before, [place] * size)]
        yield f"moved by one {along}", kind.rolled(array, axis)
        yield f"moved back by one {along}", array[(*before, [*range(1, size), 0])]


def _other_weights(state: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield changed weights of a module: those of one part elsewhere, none, or no bias.

    Parts that differ in a number only, as in a list of modules, change together.
    """
    parts: dict[str, list[str]] = {}
    for name in state:
        owner = name.rpartition(".")[0]
        parts.setdefault(re.sub(r"(?<=\.)\d+(?=\.)", "*", owner), []).append(name)

    def moved(pairs: dict[str, str]) -> dict[str, Any]:
        """The weights where part `pairs[part]` is in the place of `part`; empty if it does not fit."""
        changed = dict(state)
        for part, other in pairs.items():
            for name, source in zip(parts[part], parts[other], strict=False):
                if state[name].shape != state[source].shape or name.split(".")[-1] != source.split(".")[-1]:
                    return {}
                changed[name] = state[source]
        return changed

    for part, other in permutations(parts, 2):
        if len(parts[part]) == len(parts[other]) and (changed := moved({part: other})):
            yield f"`{part}` had the weights of `{other}`, as if that were used in its place", changed
            if part < other:
                yield f"`{part}` and `{other}` were exchanged", moved({part: other, other: part})
    for part, names in parts.items():
        weights = [name for name in names if name.endswith(".weight")]
        biases = {name: 0 * state[name] for name in names if name.endswith(".bias")}
        if biases:
            yield f"the bias of `{part}` were 0: it is not added", state | biases
        shapes = {tuple(state[name].shape) for name in weights}
        if all(len(shape) == 1 for shape in shapes):
            ones = {name: 0 * state[name] + 1 for name in weights}
            yield f"the weight of `{part}` were 1: it is not used", state | ones
            yield f"`{part}` had weights of 1 and no bias: they are not used", state | ones | biases
        elif all(len(shape) == 2 and shape[0] == shape[1] for shape in shapes):
            same = {name: _identity(state[name]) for name in weights}
            yield f"`{part}` were not applied", state | same | biases
            turned = {name: state[name].swapaxes(0, 1) for name in weights}
            yield f"the weight of `{part}` were transposed", state | turned
            twice = {name: state[name] @ state[name] for name in weights}
            if not biases:
                yield f"`{part}` were applied twice", state | twice
    lists = sorted({found[0] for name in state if (found := re.match(r".*?\.(?=\d+\.)", name))})
    for owner in lists:
        places = sorted({int(name[len(owner) :].split(".")[0]) for name in state if name.startswith(owner)})
        for words, order in (
            ("in reverse order", places[::-1]),
            ("the first one again and again", [places[0]] * len(places)),
            ("the last one again and again", [places[-1]] * len(places)),
        ):
            moved_to = {
                f"{owner}{one}.": f"{owner}{other}." for one, other in zip(places, order, strict=True)
            }
            length = {name: name.index(".", len(owner)) + 1 for name in state if name.startswith(owner)}
            sources = {name: moved_to[name[:end]] + name[end:] for name, end in length.items()}
            other_state = state | {name: state[source] for name, source in sources.items()}
            yield f"the parts of `{owner[:-1]}` were {words}", other_state


def _identity(square: Any) -> Any:
    same = 0 * square
    for place in range(len(square)):
        same[place, place] = 1
    return same


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
