"""The case groups of an assignment: how many agree in each, and whether these do well in the rest, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import StatisticsError, correlation

from nbjudge.report.gather import ClassResults
from nbjudge.report.gradebook import Key
from nbjudge.report.table import Table, table_of

FEWEST = 10  # students for whom a correlation says anything


def groups(assignment: ClassResults) -> Table:
    """How many agree in each case group, of those whose notebook could be run; and its discrimination."""
    agree: dict[tuple[Key, str], list[bool]] = defaultdict(list)
    rest: dict[tuple[Key, str], list[float]] = defaultdict(list)
    points: dict[tuple[Key, str], float] = {}
    for submission, key, verdict in assignment.verdicts():
        everything = sum(grade.points for grade in submission.entry.grades.values())
        for group in verdict.groups:
            agree[key, group.name].append(group.agrees)
            rest[key, group.name].append(everything - group.points * group.agrees)
            points[key, group.name] = group.points
    rows = [
        {
            "exercise": assignment.cells[key],
            "group": group,
            "points": points[key, group],
            "agree": sum(agree[key, group]),
            "of": len(agree[key, group]),
            "share": sum(agree[key, group]) / len(agree[key, group]),
            "discrimination": discrimination(agree[key, group], rest[key, group]),
        }
        for cell in assignment.cells
        for key, group in points
        if key == cell
    ]
    return table_of(["exercise", "group", "points", "agree", "of", "share", "discrimination"], rows)


def discrimination(agree: Sequence[bool], rest: Sequence[float]) -> float | None:
    """Whether those who agree have more points in all the rest: the point-biserial correlation, -1 to 1.

    None where all agree or nobody does, where all have the same, and for fewer than ten students. Without
    the group's own points ("corrected item-total"): Henrysson (1963), Psychometrika 28.
    """
    if len(agree) < FEWEST:
        return None
    try:
        return correlation([float(each) for each in agree], rest)
    except StatisticsError:  # one of the two is the same for all
        return None
