"""Which case groups tell that work was done: those whose right results nobody gives without it.

A refusal, an argument handed back, a constant, the names of some attributes: such answers are right
now and then, and show nothing. A group that asks for nothing else counts only beside one that requires work.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from nbjudge.authoring.case import Case
from nbjudge.authoring.exercise import Group
from nbjudge.kernel.replies import Answer
from nbjudge.probe.building import RESULTS, SIDES
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of

LARGEST_GUESS = 20  # of a whole number
BY_CHANCE = 0.01  # how likely somebody who throws a coin for every yes and no may be right


def requires_work(group: Group, cases: Sequence[Case], expected: Sequence[Answer]) -> bool:
    """Whether a group's right answers can be had by nobody who has not worked for them."""
    if group.needs_values or group.fresh:
        return False
    if group.verify is not None and not expected:
        return True
    guessed: list[int] = []
    for case, answer in zip(cases, expected, strict=True):
        if case.refuses is not None or answer.status != "value":
            continue
        given = list(_leaves([case.args, case.kwargs]))
        for leaf in _leaves(_returned(case, answer.value)):
            if _is_worked_out(leaf, given):
                return True
            if isinstance(leaf, int):
                guessed.append(leaf)
    return bool(guessed) and _chance(guessed) < BY_CHANCE


def _returned(case: Case, value: Any) -> Any:
    """What a call returned, without how an object is made."""
    if case.build is None or case.build.look == ("result",):
        return value
    return {side: each for side, each in value.items() if side in RESULTS or side not in SIDES}


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _leaves(entry)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def _is_worked_out(leaf: Any, given: list[Any]) -> bool:
    """Whether a result is no constant, no argument in any shape, and no number that is guessed."""
    kind = kind_of(leaf)
    if isinstance(kind, ArrayKind):
        numbers = kind.as_numbers(leaf).reshape(-1)
        if any(_holds(argument, numbers) for argument in given):
            return False
        if len(numbers) == 1:
            return _is_worked_out(numbers.item(), given)
        return not bool((numbers == numbers[:1]).all())
    if kind is not None:
        return not any(kind is kind_of(argument) and kind.identical(leaf, argument) for argument in given)
    if isinstance(leaf, float):
        return not leaf.is_integer() and leaf not in _plain(given)
    return type(leaf) is int and abs(leaf) > LARGEST_GUESS and leaf not in _plain(given)


def _plain(given: list[Any]) -> list[Any]:
    return [argument for argument in given if isinstance(argument, (int, float))]


def _holds(argument: Any, numbers: Any) -> bool:
    kind = kind_of(argument)
    if not isinstance(kind, ArrayKind):
        return False
    given = kind.as_numbers(argument).reshape(-1)
    return len(given) == len(numbers) and bool((given == numbers).all())


def _chance(guessed: Sequence[int]) -> float:
    """How likely dice are right that know how often each answer comes, and not when."""
    count = len(guessed)
    return math.prod((times / count) ** times for times in Counter(guessed).values())
