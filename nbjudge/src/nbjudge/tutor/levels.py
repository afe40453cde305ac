"""How far the tutor may go: a course's choice, for each assignment and from a date on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Any

from nbjudge.errors import CourseError

FORM = 'c.Tutor.levels = {"ps1": "measured", "ps2": [["examples", ""], ["full", "2026-12-01"]]}'


class Level(StrEnum):
    """What a learner may be told."""

    FULL = "full"  # which mistake it is, hints, the smallest case, a solution
    MEASURED = "measured"  # what was measured, hints, the smallest case: no names of mistakes, no solution
    EXAMPLES = "examples"  # nothing but the examples of the statement


def level_of(settings: Mapping[str, Any], assignment: str, today: date) -> Level:
    """The level of an assignment (its folder's name) on a day.

    `settings` is the section `Tutor` of a configuration: `level` for all assignments, `levels` for some of
    them, each one level, or a list of levels with the day from which each counts. Raises CourseError for
    others.
    """
    chosen = settings.get("levels", {}).get(assignment, settings.get("level", Level.FULL))
    try:
        if isinstance(chosen, str):
            return Level(chosen)
        begun = [(level, begins) for level, begins in chosen if not begins or _day(begins) <= today]
        return Level(begun[-1][0]) if begun else Level.EXAMPLES
    except (TypeError, ValueError) as error:
        levels = ", ".join(f'"{level}"' for level in Level)
        raise CourseError(
            f"The tutor's level for {assignment} is {chosen!r}; there are {levels}. Write it like this: "
            f"{FORM}"
        ) from error


def _day(text: str) -> date:
    return date.fromisoformat(text)
