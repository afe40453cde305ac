"""How a course wants its class's tutor and board: the section `Classroom` of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from nbjudge.errors import CourseError


@dataclass(frozen=True)
class ClassroomSettings:
    """Set in nbgrader_config.py, as in `c.Classroom.stuck_minutes = 15`."""

    instructors: tuple[str, ...] = ()  #: names on the hub of those who see the board; its admins do
    instructor_groups: tuple[str, ...] = ("instructors",)  #: groups of the hub whose members do, too
    names: bool = False  #: whether the board has names; learners are told so
    keep_days: int = 30  #: how long is kept what the board is made of; 0 keeps nothing
    stuck_tries: int = 4  #: tries of one exercise after which somebody is stuck
    stuck_minutes: int = 12  #: minutes after the first try, likewise
    hosts: tuple[str, ...] = ()  #: names by which browsers and students' servers reach the hub
    checks_a_minute: int = 20  #: of one learner
    largest_megabytes: int = 16  #: of one answer

    @classmethod
    def of(cls, configuration: Mapping[str, Any]) -> Self:
        """Those of a course's configuration. Raises CourseError for unknown names and unfit values."""
        said = dict(configuration.get("Classroom", {}))
        known = {each.name: each.default for each in fields(cls)}
        for name, value in said.items():
            if name not in known:
                raise CourseError(
                    f"There is no Classroom.{name} (nbgrader_config.py); there are {', '.join(known)}."
                )
            said[name] = value = tuple(value) if isinstance(value, list) else value
            if type(value) is not type(known[name]) or (type(value) is int and value < 0):
                raise CourseError(
                    f"Classroom.{name} is {value!r} (nbgrader_config.py): it has to be like {known[name]!r}."
                )
        return cls(**said)
