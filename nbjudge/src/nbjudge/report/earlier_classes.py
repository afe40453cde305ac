"""This class beside earlier ones: what got harder or easier, which mistakes came and which went.

Shares are compared, each with a 95 % interval of the difference: Newcombe (1998), "Interval estimation for
the difference between independent proportions", method 10. Where the interval holds 0, it may be chance.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.report.tables import Row, Table, table_of

Z = 1.959964  # of a 95 % interval
COLUMNS = [
    *("then", "what", "exercise", "name", "students", "of", "students then", "of then"),
    *("difference", "low", "high", "verdict"),
]
BETTER, WORSE, ALIKE = "easier", "harder", "as before"
MORE, FEWER = "more often", "less often"
MOST_NAMED = 3  # of a kind, in a sentence


# By "all points", "case group" or "mistake", by exercise, and by name of the group or mistake: how many
# students did it, of how many.
Proportions = dict[tuple[str, str, str], tuple[int, int]]


@dataclass(frozen=True)
class EarlierReport:
    """A report of before: the day it was made, and what there is to compare."""

    day: str
    proportions: Proportions


def read_earlier(path: Path, assignment: str) -> EarlierReport:
    """A `report.json` of the same assignment. Raises CourseError for anything else, with what to do."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        earlier = EarlierReport(str(content["made"])[:10], _proportions(content["tables"]))
    except OSError as error:
        raise CourseError(
            f"{path} cannot be compared with: {error.strerror}. Name a report.json of an earlier class."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(
            f"{path} is no report of a class ({type(error).__name__}: {error}): name the report.json that "
            "`nbjudge report` wrote."
        ) from error
    if content.get("assignment") != assignment:
        raise CourseError(
            f"{path} reports on {content.get('assignment')!r}, and this one on {assignment!r}: name another."
        )
    return earlier


def compared(tables: dict[str, list[Row]], earlier: Sequence[EarlierReport]) -> Table:
    """Return what both classes were asked, and every mistake that either made, beside each earlier class.

    `difference` is of shares, now less then, between `low` and `high`.
    """
    own = _proportions(tables)
    return table_of(COLUMNS, [row for each in earlier for row in _rows(own, each)])


def difference_of_shares(now: int, of: int, then: int, of_then: int) -> tuple[float, float, float]:
    """now/of - then/of_then, and its 95 % interval. Neither class is empty."""
    share, share_then = now / of, then / of_then
    (low, high), (low_then, high_then) = _wilson(now, of), _wilson(then, of_then)
    difference = share - share_then
    below = sqrt((share - low) ** 2 + (high_then - share_then) ** 2)
    above = sqrt((high - share) ** 2 + (share_then - low_then) ** 2)
    return difference, max(-1.0, difference - below), min(1.0, difference + above)


def changes_in_words(table: Table) -> Iterator[str]:
    """Yield what has changed, in words; one sentence that nothing has, where that is so."""
    for then in dict.fromkeys(row["then"] for row in table.rows):
        rows = [row for row in table.rows if row["then"] == then]
        found = list(filter(None, (_changed(rows, *kind) for kind in KINDS)))
        if found:
            yield f"Against the class of {then}: {'; '.join(found)}."
        else:
            yield f"Against the class of {then}, nothing differs by more than chance may do."


KINDS: list[tuple[str, str, str]] = [
    ("all points", WORSE, "harder now"),
    ("all points", BETTER, "easier now"),
    ("mistake", MORE, "mistakes made more often"),
    ("mistake", FEWER, "mistakes made less often"),
]


def _changed(rows: Iterable[Row], what: str, verdict: str, title: str) -> str:
    changed = [row for row in rows if row["what"] == what and row["verdict"] == verdict]
    changed.sort(key=lambda row: -abs(row["difference"]))
    named = [
        f"`{row['name'] or row['exercise']}` ({row['students']} of {row['of']}, "
        f"then {row['students then']} of {row['of then']})"
        for row in changed[:MOST_NAMED]
    ]
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    return f"{title} {', '.join(named)}{more}" if named else ""


def _rows(own: Proportions, earlier: EarlierReport) -> Iterator[Row]:
    then = _with_zeros(earlier.proportions, own)
    for key, (count, of) in _with_zeros(own, earlier.proportions).items():
        if key in then:
            difference, low, high = difference_of_shares(count, of, *then[key])
            up, down = (MORE, FEWER) if key[0] == "mistake" else (BETTER, WORSE)
            verdict = up if low > 0 else down if high < 0 else ALIKE
            values = (earlier.day, *key, count, of, *then[key], difference, low, high, verdict)
            yield dict(zip(COLUMNS, values, strict=True))


def _proportions(tables: dict[str, list[Row]]) -> Proportions:
    """Read the rows in which there is something to compare."""
    proportions: Proportions = {}
    for row in tables["exercises"]:
        marked = row["full"] + row["part"] + row["none"]
        proportions["all points", row["exercise"], ""] = row["full"], marked
    for row in tables["groups"]:
        proportions["case group", row["exercise"], row["group"]] = row["agree"], row["of"]
    for row in tables["mistakes"]:
        proportions["mistake", row["exercise"], row["mistake"]] = row["students"], row["of"]
    return {key: (count, of) for key, (count, of) in proportions.items() if of > 0}


def _with_zeros(own: Proportions, other: Proportions) -> Proportions:
    """Add the mistakes of the other class that no student made here, if the exercise was judged here."""
    judged = {exercise: of for (what, exercise, _), (_, of) in own.items() if what == "case group"}
    zeros = {key: (0, judged[key[1]]) for key in other if key[0] == "mistake" and key[1] in judged}
    return own | {key: zero for key, zero in zeros.items() if key not in own}


def _wilson(count: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share: Wilson (1927)."""
    middle, spread = count + Z**2 / 2, Z * sqrt(count * (of - count) / of + Z**2 / 4)
    return (middle - spread) / (of + Z**2), (middle + spread) / (of + Z**2)
