"""How much the tutor may reveal: an instructor's choice for each assignment, which may change on a date."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Self

from nbjudge.errors import SettingsError

EXAMPLE = 'c.Tutor.levels = {"ps1": "measured", "ps2": [["examples", ""], ["full", "2026-12-01"]]}'
OPTIONS = ("level", "levels")


class Disclosure(StrEnum):
    """The levels of what a learner may see."""

    FULL = "full"  # the mistake's name, hints, the smallest failing case, a solution
    MEASURED = "measured"  # measurements, hints, the smallest failing case; no names of mistakes, no solution
    EXAMPLES = "examples"  # nothing: the examples of the assignment are the only test


Schedule = tuple[tuple[Disclosure, date], ...]  # each disclosure with its first day


@dataclass(frozen=True)
class DisclosureSettings:
    """The disclosure of every assignment of a course: a schedule by its folder's name, or the default."""

    default: Disclosure = Disclosure.FULL
    by_assignment: Mapping[str, Schedule] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any], assignments: Collection[str], default: Disclosure) -> Self:
        """Read the section `Tutor` of a configuration: `level` for all assignments, `levels` for single ones.

        Each value is one disclosure; in `levels` it may also be a list of pairs of a disclosure and its first
        day ("" for from the start). Raises SettingsError if an option, an assignment, a disclosure or a date
        does not exist: a wrong name must not fall back to a default that may show solutions.
        """
        for option in options:
            if option not in OPTIONS:
                known = " and ".join(f"c.Tutor.{name}" for name in OPTIONS)
                raise SettingsError(
                    f"There is no option c.Tutor.{option}{_similar(option, OPTIONS)}: use {known}."
                )
        schedules = options.get("levels", {})
        if not isinstance(schedules, Mapping):
            raise SettingsError(f"c.Tutor.levels is {schedules!r}. Write it like this: {EXAMPLE}")
        for assignment in schedules:
            if assignment not in assignments:
                raise SettingsError(
                    f"c.Tutor.levels names the assignment {assignment!r}, which this course does not have"
                    f"{_similar(assignment, assignments)}. It has: {', '.join(sorted(assignments))}."
                )
        return cls(
            _disclosure(options.get("level", default), "c.Tutor.level"),
            {name: _schedule(chosen, f"c.Tutor.levels[{name!r}]") for name, chosen in schedules.items()},
        )

    def on(self, assignment: str, day: date) -> Disclosure:
        """Return the disclosure of an assignment on a day: `EXAMPLES` before its schedule begins."""
        if assignment not in self.by_assignment:
            return self.default
        begun = [disclosure for disclosure, first in self.by_assignment[assignment] if first <= day]
        return begun[-1] if begun else Disclosure.EXAMPLES


def _schedule(chosen: Any, option: str) -> Schedule:
    if isinstance(chosen, str):
        return ((_disclosure(chosen, option), date.min),)
    try:
        pairs = [(disclosure, date.fromisoformat(day) if day else date.min) for disclosure, day in chosen]
    except (TypeError, ValueError):
        raise SettingsError(f"{option} is {chosen!r}. Write it like this: {EXAMPLE}") from None
    return tuple((_disclosure(disclosure, option), day) for disclosure, day in pairs)


def _disclosure(value: Any, option: str) -> Disclosure:
    try:
        return Disclosure(value)
    except ValueError:
        known = ", ".join(f'"{each}"' for each in Disclosure)
        raise SettingsError(
            f"{option} is {value!r}, which is not one of {known}. For example: {EXAMPLE}"
        ) from None


def _similar(name: object, known: Collection[str]) -> str:
    close = difflib.get_close_matches(str(name), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
