"""An exam: an assignment of which each student has a paper of their own, with the same cells and points.

`nbjudge.exam` draws it. `source/EXAM` has a sample paper, from which nbgrader knows the cells; the papers are
in `checks/EXAM/papers/STUDENT`, with their keys, beside the table of what was drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import msgspec

from nbjudge.authoring.exercise import Exercise
from nbjudge.errors import CourseError

PAPERS = "papers.json"  # in the checks of an exam: what was drawn
QUARTERS = 4  # points are given in quarters, whose sums are exact


class DrawnItem(msgspec.Struct, frozen=True):
    """What the table keeps of a task or a question that is in a paper."""

    kind: str
    expected: float  # the share of its points that is earned on average
    exercise: str = ""  # of a task
    passes: list[str] = []  # the case groups that its wrong answer passes


class ExamTable(msgspec.Struct, frozen=True):
    """What was drawn."""

    minutes: int
    points: dict[str, float]  # of a task or question of each kind
    modules: list[str]  # that papers import
    lessons: dict[str, str]  # by exercise, the notebook whose checks judge it: ps1/spread
    items: dict[str, DrawnItem]
    papers: dict[str, list[str]]  # by student the items, in the order of the paper; "" is the sample


def read_table(file: Path) -> ExamTable:
    """Read what was drawn. Raises CourseError if it cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=ExamTable)
    except (OSError, msgspec.DecodeError) as error:
        raise CourseError(f"{file} cannot be read ({error}): restore it from a backup.") from None


def worth(exercise: Exercise, points: float, passes: Collection[str]) -> Exercise:
    """Return an exercise whose groups are worth so many points together.

    The groups that the wrong answer of a task passes as well earn nothing before another one does.
    """
    result = copy.copy(exercise)
    result.cell = ""  # of its own notebook
    shares = in_quarters([group.points for group in exercise.groups], points)
    result.groups = [
        replace(group, points=share, withhold_points=group.withhold_points or group.name in passes)
        for group, share in zip(exercise.groups, shares, strict=True)
    ]
    return result


def in_quarters(parts: list[float], points: float) -> list[float]:
    """Share out points in proportion to the parts, in quarters, and at least one quarter each."""
    wanted = [part * points * QUARTERS / sum(parts) for part in parts]
    shares = [max(1, int(each)) for each in wanted]
    while (rest := round(points * QUARTERS) - sum(shares)) != 0:
        step = 1 if rest > 0 else -1
        index = max(range(len(parts)), key=lambda at: step * (wanted[at] - shares[at]))
        shares[index] += step
    return [share / QUARTERS for share in shares]
