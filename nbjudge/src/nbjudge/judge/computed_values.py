"""Which case groups can only pass if the answer computes something: the scoring rule needs to know.

An error for bad arguments, a returned argument, a constant, the names of some attributes: such answers can
be right by chance and prove nothing. A group that tests nothing else has its points withheld
(`nbjudge.judge.scoring`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Group
from nbjudge.kernel.protocol import Answer
from nbjudge.probe.building import RESULTS, SIDES
from nbjudge.values.kinds import ArrayKind, kind_of

LARGEST_GUESS = 20  # whole numbers up to this one can be guessed
LARGEST_CHANCE = 0.01  # that guesses of small numbers and truth values are all right


def requires_computation(group: Group, cases: Sequence[Case], expected: Sequence[Answer]) -> bool:
    """Whether the expected values of a group must be computed and cannot be guessed."""
    if group.withhold_points or group.fresh:
        return False
    if group.verify is not None and not expected:
        return True
    guessable: list[int] = []
    for case, answer in zip(cases, expected, strict=True):
        if case.refuses is not None or answer.status != "value":
            continue
        arguments = list(_leaves([case.args, case.kwargs]))
        returned = _returned(case, answer.value)
        if _selects_entries(returned, case):
            return True
        for leaf in _leaves(returned):
            if _is_computed(leaf, arguments):
                return True
            if isinstance(leaf, int):
                guessable.append(leaf)
    return bool(guessable) and _chance_of_guessing(guessable) < LARGEST_CHANCE


def _returned(case: Case, value: Any) -> Any:
    """Return what the call itself gave, without the attributes and weights of its object."""
    if case.build is None or case.build.look == ("result",):
        return value
    return {side: each for side, each in value.items() if side in RESULTS or side not in SIDES}


def _selects_entries(value: Any, case: Case) -> bool:
    """Whether a result is a dict that holds entries of an argument under other names."""
    given = [each for each in (*case.args, *case.kwargs.values()) if isinstance(each, dict)]
    return (
        isinstance(value, dict) and len(value) > 1 and any(not value.keys() & each.keys() for each in given)
    )


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _leaves(entry)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def _is_computed(leaf: Any, arguments: list[Any]) -> bool:
    """Whether a result is no constant, no (reshaped) argument and no number that can be guessed."""
    kind = kind_of(leaf)
    if isinstance(kind, ArrayKind):
        numbers = kind.as_numbers(leaf).reshape(-1)
        if any(_has_numbers(argument, numbers) for argument in arguments):
            return False
        if len(numbers) == 1:
            return _is_computed(numbers.item(), arguments)
        return not bool((numbers == numbers[:1]).all())
    if kind is not None:
        return not any(kind is kind_of(argument) and kind.identical(leaf, argument) for argument in arguments)
    if isinstance(leaf, float):
        return not leaf.is_integer() and leaf not in _numbers_in(arguments)
    return type(leaf) is int and abs(leaf) > LARGEST_GUESS and leaf not in _numbers_in(arguments)


def _numbers_in(arguments: list[Any]) -> list[Any]:
    return [argument for argument in arguments if isinstance(argument, (int, float))]


def _has_numbers(argument: Any, numbers: Any) -> bool:
    kind = kind_of(argument)
    if not isinstance(kind, ArrayKind):
        return False
    given = kind.as_numbers(argument).reshape(-1)
    return len(given) == len(numbers) and bool((given == numbers).all())


def _chance_of_guessing(guessable: Sequence[int]) -> float:
    """Return the probability of guessing all values when only their frequencies are known."""
    count = len(guessable)
    return math.prod((times / count) ** times for times in Counter(guessable).values())
