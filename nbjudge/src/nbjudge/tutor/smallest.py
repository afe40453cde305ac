"""The smallest case in which an answer goes wrong: sizes of 1 to 4 and whole numbers, to be followed by hand.

A failing case is made smaller in every way that leaves it a case: equal sizes stay equal, so a shape that was
right remains so, and whatever the reference cannot answer is passed over. The learner's kernel is asked about
all that is left at once, from the smallest on, and the first on which it goes wrong is shown.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from typing import Any

from nbjudge.authoring.cases import Build, Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer, AnswerCaller, answers_of, calls_for
from nbjudge.judge.compare import has_expected_values, is_right
from nbjudge.judge.group_result import GroupResult
from nbjudge.probe.respond import BUILDERS, drawing_from
from nbjudge.values.kinds import ArrayKind, is_array, kind_of, leaves
from nbjudge.values.packing import copy_value

LARGEST_SIZE = 4
AT_ONCE = 12  # cases that a kernel is sent in one request
MOST_SECONDS = 1.0  # of looking
MOST_MAPPINGS = 2000  # ways to make the sizes of one case smaller
MOST_SHRUNK = 3  # failing cases that are made smaller
LARGEST_WHOLE = 3


@dataclass(frozen=True)
class Difference:
    """A case, what the learner's answer gives there, and what is right."""

    case: Case
    answer: Answer
    expected: Answer


def smallest_difference(
    exercise: Exercise, reference: Callable[..., Any], runs: Sequence[GroupResult], call_answer: AnswerCaller
) -> Difference | None:
    """The smallest case found in which the answer is wrong; None where none of its failing cases shrinks."""
    if exercise.is_variable:
        return None  # it would be the answer
    end = time.monotonic() + MOST_SECONDS
    # An answer with wrong values may change its arguments besides: its values are shown then.
    wrong = any(not run.drawn.cases[index].gradients for run in runs for index in run.wrong_values)
    matches = has_expected_values if wrong else is_right  # gradients are not asked for again
    candidates = _candidates(reference, _failing(runs), end)
    while some := list(itertools.islice(candidates, AT_ONCE)):
        reply = call_answer(exercise.name, calls_for([case for case, _ in some], [None] * len(some)), {})
        for (case, expected), answer in zip(some, reply.answers, strict=True):
            answer = answer.without_allowed_changes(expected)
            if answer.status not in ("value", "raised") or matches(exercise, case, answer, expected):
                continue
            if _has_one_right_answer(exercise, case, expected):
                return Difference(case, answer, expected)
    return None


def _has_one_right_answer(exercise: Exercise, case: Case, expected: Answer) -> bool:
    """Return whether all accepted alternatives give there what the reference does.

    Sizes that hang together may come apart when they shrink, and a formula may give something all the same.
    """
    calls = calls_for([case], [None])
    return all(
        is_right(exercise, case, answer.without_allowed_changes(expected), expected)
        for way in exercise.accepted_alternatives
        for answer in answers_of(way, calls)
    )


def _failing(runs: Sequence[GroupResult]) -> list[Case]:
    """Cases whose values differ before those that end in an error, the smaller before the larger."""
    found = [
        (run.answers[index].status != "value", count_numbers(run.drawn.cases[index]), run.drawn.cases[index])
        for run in runs
        if run.drawn.expected
        for index in run.failed_cases
    ]
    ordered = sorted(found, key=lambda each: each[:2])
    return [case for *_, case in ordered if case.refuses is None][:MOST_SHRUNK]


def _candidates(
    reference: Callable[..., Any], cases: Sequence[Case], end: float
) -> Iterator[tuple[Case, Answer]]:
    """Smaller cases that the reference answers, the smallest of each case first, until the time `end`."""
    known = set[str]()
    for smaller_cases in itertools.zip_longest(*map(_smaller, cases)):
        for case in filter(None, smaller_cases):
            key = repr(_parts(case))
            if key in known:
                continue
            known.add(key)
            if time.monotonic() > end:
                return
            case = _with_fitting_state(reference, case)
            (expected,) = answers_of(reference, calls_for([case], [None]))
            if expected.status == "value" and not expected.changed:
                yield case, expected


def _with_fitting_state(reference: Callable[..., Any], case: Case) -> Case:
    """With the weights that an object of this size has: a smaller one may have fewer of them."""
    build, state = case.build, getattr(case.build, "state", None)
    if build is None or not state:
        return case
    builder = BUILDERS[build.builder]
    try:
        instance = reference(*build.args, **build.kwargs)
        shapes = {name: parameter.shape for name, parameter in builder.parameters(instance).items()}
        fitting = {name: state[name][tuple(map(slice, shape))] for name, shape in shapes.items()}
    except Exception:  # no object of such a size
        return case
    return _with_state(case, fitting)


def with_whole_weights(reference: Callable[..., Any], case: Case) -> Case:
    """Return a case whose object has small whole numbers for weights, the same ones each time.

    An object without weights, or that cannot be made, leaves the case as it is.
    """
    build: Any = case.build
    if not hasattr(build, "state"):
        return case
    builder = BUILDERS[build.builder]
    try:
        with drawing_from(0):
            own = builder.parameters(reference(*copy_value(build.args), **copy_value(build.kwargs)))
    except Exception:  # no object of such a size
        return case
    kinds = {name: kind_of(weights) for name, weights in own.items()}
    state = {name: kinds[name].copy(weights, False) for name, weights in own.items()}  # type: ignore[union-attr]
    return _with_state(case, _cut(state, {}, _whole_weights))


def _with_state(case: Case, state: dict[str, Any]) -> Case:
    build: Any = case.build  # of a library whose objects have one
    return replace(case, build=replace(build, state=state))


def _smaller(case: Case) -> Iterator[Case]:
    """The case with smaller sizes, the smallest sizes first; with whole numbers, then with rounded ones.

    An object's weights become whole and fit the sizes later, see `_with_fitting_state`.
    """
    state = getattr(case.build, "state", None)
    if state:
        case = _with_state(case, _cut(state, {}, _whole_weights))
    sizes = sorted({size for part in _parts(case) for size in _sizes(part)})
    largest = [min(size, LARGEST_SIZE) for size in sizes]
    for chosen in itertools.islice(_smallest_first(largest), MOST_MAPPINGS):
        mapping = dict(zip(sizes, chosen, strict=True))
        for change, end in ((_whole, False), (_ranked, True), (_rounded, False)):
            yield _with_parts(case, partial(_cut, sizes=mapping, change=change, end=end))


def _smallest_first(largest: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Numbers from 1 to each of these, in the order of their sum."""
    waiting = [(len(largest), (1,) * len(largest))]
    while waiting:
        _, chosen = heappop(waiting)
        yield chosen
        # Only the last number above 1 and those behind it grow: all others are reached in another way.
        last = max((place for place, number in enumerate(chosen) if number > 1), default=0)
        for place in range(last, len(largest)):
            if chosen[place] < largest[place]:
                larger = (*chosen[:place], chosen[place] + 1, *chosen[place + 1 :])
                heappush(waiting, (sum(larger), larger))


def _parts(case: Case) -> list[Any]:
    """Whatever of a case can be smaller: arguments, and those that an object is made with."""
    parts: list[Any] = [list(case.args), case.kwargs]
    if case.build is not None:
        parts += [list(case.build.args), case.build.kwargs]
    return parts


def _with_parts(case: Case, change: Callable[[Any], Any]) -> Case:
    build: Build | None = case.build
    if build is not None:
        build = replace(build, args=tuple(change(list(build.args))), kwargs=change(build.kwargs))
    return replace(
        case, args=tuple(change(list(case.args))), kwargs=change(case.kwargs), build=build, gradients=False
    )


def _sizes(value: Any, inside: bool = False) -> Iterator[int]:
    """The sizes of arrays, the lengths of lists and the whole numbers handed in, above 1."""
    kind = kind_of(value)
    if isinstance(kind, ArrayKind):
        yield from (size for size in value.shape if size > 1)
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _sizes(entry)
    elif isinstance(value, (list, tuple)):
        if inside and len(value) > 1:
            yield len(value)
        for entry in value:
            # In a list of numbers, these are what it holds; handed in alone, a number is a size.
            if not (inside and isinstance(entry, int)):
                yield from _sizes(entry, inside=True)
    elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
        yield value


def _cut(
    value: Any,
    sizes: dict[int, int],
    change: Callable[[ArrayKind, Any], Any],
    end: bool = False,
    depth: int = 0,
) -> Any:
    """The beginning of the arrays, or their end: one of them may be all alike."""
    kind = kind_of(value)
    if isinstance(kind, ArrayKind):
        lengths = [(size, sizes.get(size, size)) for size in value.shape]
        rest = value[tuple(slice(size - left, size) if end else slice(left) for size, left in lengths)]
        return change(kind, rest) if kind.is_floating(rest) else rest
    if isinstance(value, dict):
        return {key: _cut(entry, sizes, change, end) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        kept_entries = value[: sizes.get(len(value), len(value))] if depth else value
        return type(value)(
            entry if depth and isinstance(entry, int) else _cut(entry, sizes, change, end, depth + 1)
            for entry in kept_entries
        )
    if isinstance(value, int) and not isinstance(value, bool):
        return sizes.get(value, value)
    return value


def _whole(kind: ArrayKind, value: Any) -> Any:
    """Small whole numbers where there were any numbers."""
    return (value * 2).round().clip(-LARGEST_WHOLE, LARGEST_WHOLE) + 0.0  # no -0


def _whole_weights(kind: ArrayKind, value: Any) -> Any:
    """Whole numbers of a layer's weights, which are the smaller the wider it is: the largest becomes 3."""
    largest = float(abs(kind.as_numbers(value)).max(initial=0))
    return _whole(kind, value * (LARGEST_WHOLE / 2 / largest)) if largest else value


def _ranked(kind: ArrayKind, value: Any) -> Any:
    """0, 1, 2, … from the least to the largest number: whole, and no two alike."""
    ranks = value.reshape(-1).argsort().argsort().reshape(value.shape)
    return ranks + kind.zeros_like(value)


def _rounded(kind: ArrayKind, value: Any) -> Any:
    """Numbers as large as they were, with one digit after the point."""
    return (value * 10).round() / 10


def count_numbers(case: Case) -> int:
    """Return how many numbers it takes to write a case down."""
    return sum(
        math.prod(leaf.shape) if is_array(leaf) else leaf if type(leaf) is int else 1
        for _, leaf in leaves(_parts(case))
    )
