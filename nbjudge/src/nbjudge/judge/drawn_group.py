"""A case group drawn from a seed: its cases, the calls to make, and what the reference answers to them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise, Group, Mistake
from nbjudge.errors import CourseError
from nbjudge.judge.compare import changes_values, raises_as_required
from nbjudge.judge.computed_values import requires_computation
from nbjudge.kernel.protocol import Answer, answers_of, calls_for
from nbjudge.values.kinds import ArrayKind, kind_of
from nbjudge.values.packing import why_it_cannot_travel

# A right answer may divide by the smallest normal float32 where a sum is empty: the quotient is still finite.
LARGEST_COTANGENT = 3.0
BROKEN_CASE = "Case {} of the group “{}” of `{}` {}: fix it in checks/."
Call = dict[str, Any]


@dataclass(eq=False)
class DrawnGroup:
    """A case group on one seed, with the answers of the reference and, on demand, of the mistakes."""

    group: Group
    reference: Callable[..., Any]
    cases: list[Case]
    calls: list[Call]
    expected: list[Answer]  # empty where no value is compared
    requires_computation: bool  # see `nbjudge.judge.scoring`
    retest_factor: float = 0.5  # see `Exercise`
    # The calls of the retest and the expected answers to them, once `nbjudge.judge.retest` has made them.
    retest: tuple[list[Call], list[Answer]] | None = None
    _mistake_answers: dict[tuple[str, int], Answer] = field(default_factory=dict)

    def mistake_answer(self, mistake: Mistake, index: int) -> Answer:
        """Return what a mistake answers to call number `index`."""
        key = (mistake.name, index)
        if key not in self._mistake_answers:
            (answer,) = answers_of(mistake.answer, [not_measured(self.calls[index])])
            self._mistake_answers[key] = (
                answer.without_allowed_changes(self.expected[index]) if self.expected else answer
            )
        return self._mistake_answers[key]


def draw_groups(exercise: Exercise, reference: Callable[..., Any], seed: int) -> list[DrawnGroup]:
    """Draw all case groups of an exercise, see `draw_group`."""
    return [draw_group(exercise, group, reference, seed) for group in exercise.groups]


@lru_cache(maxsize=64)  # several answers are judged on one seed: the reference runs once
def draw_group(exercise: Exercise, group: Group, reference: Callable[..., Any], seed: int) -> DrawnGroup:
    """Draw the cases of a group and run the reference on them.

    Parameters
    ----------
    exercise, group
        The exercise and one of its groups.
    reference
        The answer of the solution notebook.
    seed
        The seed of the exercise, from which the group's own seed is made.

    Returns
    -------
    DrawnGroup
        The same object for the same arguments, as long as it is cached.

    Raises
    ------
    CourseError
        If the reference cannot answer a case, or if a case holds a value that cannot be sent to a kernel.
    """
    draw = exercise.draw(group_seed(seed, exercise.name, group.name))
    cases = group.cases(draw)
    _refuse_what_cannot_travel(exercise, group, cases)
    plain = calls_for(cases, [None] * len(cases))
    cotangents = [
        _cotangents(reference, call, draw) if case.gradients else None
        for case, call in zip(cases, plain, strict=True)
    ]
    calls = calls_for(cases, cotangents)
    compared = not group.fresh and (group.verify is None or any(case.measure for case in cases))
    expected = answers_of(reference, [not_measured(call) for call in calls]) if compared else []
    _refuse_broken_cases(exercise, group, cases, expected)
    computed = requires_computation(group, cases, expected)
    return DrawnGroup(group, reference, cases, calls, expected, computed, exercise.retest_factor)


def not_measured(call: Call) -> Call:
    """Return the same call without its measurement, which takes time and does not change the value."""
    return call | {"measure": None}


def group_seed(seed: int, exercise: str, group: str) -> int:
    """Return the group's own seed, so that a new group leaves the inputs of the other groups unchanged."""
    digest = hashlib.sha256(f"{seed}/{exercise}/{group}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _cotangents(reference: Callable[..., Any], call: Call, draw: Any) -> list[Any]:
    """Draw random weights for the outputs, so that one backward pass tests all of them."""
    (expected,) = answers_of(reference, [call])
    values = expected.value if isinstance(expected.value, (list, tuple)) else [expected.value]
    kinds = [(kind_of(value), value) for value in values]
    return [
        draw.normal(*value.shape, dtype=value.dtype).clip(-LARGEST_COTANGENT, LARGEST_COTANGENT)
        for kind, value in kinds
        if isinstance(kind, ArrayKind) and kind.differentiates and kind.is_floating(value)
    ]


def _refuse_broken_cases(
    exercise: Exercise, group: Group, cases: Sequence[Case], expected: Sequence[Answer]
) -> None:
    """Raise CourseError if the reference fails a case, because every student would lose the points."""
    for number, (case, answer) in enumerate(zip(cases, expected, strict=False), 1):
        outcome = f"{answer.error}: {answer.message}" if answer.status == "raised" else f"“{answer.status}”"
        if case.refuses is not None:
            if raises_as_required(case, answer):
                continue
            problem = (
                "is to be refused, and the solution does not raise a ValueError with the numbers "
                f"{', '.join(map(str, case.refuses))} (it gives {outcome})"
            )
        elif answer.status == "value" and not changes_values(answer):
            continue
        elif answer.changed:
            problem = "has its arguments changed by the solution"
        else:
            problem = f"cannot be answered by the solution itself ({outcome})"
        raise CourseError(BROKEN_CASE.format(number, group.name, exercise.name, problem))


def _refuse_what_cannot_travel(exercise: Exercise, group: Group, cases: Sequence[Case]) -> None:
    for number, case in enumerate(cases, 1):
        reason = why_it_cannot_travel([case.args, case.kwargs, *([vars(case.build)] if case.build else [])])
        if reason:
            problem = f"has {reason}"
            raise CourseError(BROKEN_CASE.format(number, group.name, exercise.name, problem))
