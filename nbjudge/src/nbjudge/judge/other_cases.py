"""Cases with other arguments or weights: a wrong result that is right for one of them has its cause there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.values.kinds import ArrayKind, kind_of

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
