"""What a teacher wants to know first, in words."""

from __future__ import annotations

from statistics import median, quantiles

from nbjudge.report.gather import ClassResults
from nbjudge.report.table_type import Table
from nbjudge.report.tables import Tables

# A single student's mistake is no misunderstanding of the class's.
SHARED = 2


def counts_of(assignment: ClassResults) -> dict[str, int]:
    """The numbers of students in each state."""
    graded = assignment.graded
    lost = [each for each in graded if each.could_not_run]
    return {
        "listed": len(assignment.submissions),
        "handed_in": len(assignment.handed_in),
        "graded": len(graded),
        "could_not_run": len(lost),
        "partly_failed": sum(bool(each.failures) for each in graded) - len(lost),
        "to_mark": sum(bool(each.waiting) for each in graded),
    }


def summary(assignment: ClassResults, counts: dict[str, int], tables: Tables) -> list[str]:
    """Sentences, the first of which stands for all; code between backticks."""
    sentences = [
        _first(assignment, counts, tables),
        *_spread(assignment),
        *_hardest(assignment, tables["exercises"]),
    ]
    sentences += _most_missed(tables["groups"])
    if counts["partly_failed"]:
        sentences.append(f"In {_submissions(counts['partly_failed'])} something failed; the rest was graded.")
    if waiting := counts["to_mark"]:
        sentences.append(
            f"{_submissions(waiting)} still {'waits' if waiting == 1 else 'wait'} for a person "
            "to mark a written answer, and may gain points."
        )
    ungraded = counts["handed_in"] - counts["graded"]
    if ungraded:
        sentences.append(f"{_submissions(ungraded)} {_have(ungraded)} no grade yet.")
    missing = counts["listed"] - counts["handed_in"]
    if missing:
        sentences.append(f"{missing} of the {counts['listed']} students on the list handed in nothing.")
    return sentences


def _first(assignment: ClassResults, counts: dict[str, int], tables: Tables) -> str:
    """Such as: 30 handed in, 4 failed to run, median 14 of 20; what the class misunderstood most: …"""
    parts = [f"{counts['handed_in']} handed in"]
    if counts["could_not_run"]:
        parts.append(f"{counts['could_not_run']} failed to run")
    middle = median(each.points for each in assignment.graded)
    parts.append(f"median {_number(middle)} of {_number(assignment.max_points)} points")
    first = ", ".join(parts)
    if not tables["groups"].rows:  # graded by the course's own tests, which name nothing
        return f"{first}."
    if not tables["mistakes"].rows:
        return f"{first}; no mistake that the assignment knows by name was made."
    top = tables["mistakes"].rows[0]
    if top["students"] < SHARED:
        return f"{first}; no named mistake was made by more than one."
    return (
        f"{first}; what the class misunderstood most: {top['students']} of {top['of']} made the mistake "
        f"`{top['mistake']}` in `{top['exercise']}`."
    )


def _spread(assignment: ClassResults) -> list[str]:
    points = [each.points for each in assignment.graded]
    full = sum(each >= assignment.max_points for each in points)
    if len(points) < 4:
        return []
    low, _, high = quantiles(points, n=4, method="inclusive")
    everything = f"; {full} {_have(full)} all points" if full else ""
    return [f"Half of the class is between {_number(low)} and {_number(high)} points{everything}."]


def _hardest(assignment: ClassResults, exercises: Table) -> list[str]:
    """Of the exercises in code: those in prose are still being marked, or were left blank."""
    shares = [
        (row["mean"] / row["points"], row["exercise"])
        for key, row in zip(assignment.cells, exercises.rows, strict=True)
        if row["points"] > 0
        and row["mean"] is not None
        and not any(grade.written for grade in assignment.grades(key))
    ]
    share, name = min(shares, key=lambda each: each[0], default=(1, ""))
    if len(shares) < 2 or share >= 1:
        return []
    return [f"Hardest was `{name}`: {share:.0%} of its points on average."]


def _most_missed(groups: Table) -> list[str]:
    worst = min(groups.rows, key=lambda row: row["share"], default=None)
    if worst is None or worst["share"] >= 1:
        return []
    missed = worst["of"] - worst["agree"]
    return [
        f"The case group missed most is “{worst['group']}” of `{worst['exercise']}`: "
        f"{missed} of {worst['of']} do not agree there."
    ]


def _submissions(count: int) -> str:
    return f"{count} submission{'' if count == 1 else 's'}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _number(value: float) -> str:
    return f"{round(value, 1):g}"
