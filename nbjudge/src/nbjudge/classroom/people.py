"""Who looks at the board: the hub says who they are, the course's settings say who teaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from nbjudge.settings import ClassroomSettings

NOT_KNOWN = (
    "The tutor does not know who is asking. Stop your server (File → Hub Control Panel → Stop My Server), "
    "start it again, and run this cell once more."
)


@dataclass(frozen=True)
class Person:
    """A learner, or an instructor, who may see the board."""

    name: str
    instructor: bool = False


class People(Protocol):
    """Says who somebody is."""

    def person(self, model: dict[str, Any]) -> Person:
        """Somebody as the hub describes them."""


class HubPeople:
    """Those of a hub."""

    def __init__(self, settings: ClassroomSettings) -> None:
        self._settings = settings

    def person(self, model: dict[str, Any]) -> Person:
        """Somebody as the hub describes them."""
        chosen, groups = self._settings.instructors, set(model.get("groups") or ())
        teaches = bool(model.get("admin")) or model["name"] in chosen
        return Person(model["name"], teaches or bool(groups & set(self._settings.instructor_groups)))
