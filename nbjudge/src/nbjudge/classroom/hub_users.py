"""Users of the board: the hub identifies them, the course's settings say which of them are instructors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from nbjudge.settings import ClassroomSettings

NOT_KNOWN = (
    "The tutor does not know who is asking. Stop your server (File → Hub Control Panel → Stop My Server), "
    "start it again, and run this cell once more."
)


@dataclass(frozen=True)
class User:
    """A learner, or an instructor, who may see the board."""

    name: str
    instructor: bool = False


class UserDirectory(Protocol):
    """Tells which user a request comes from."""

    def user(self, model: dict[str, Any]) -> User:
        """The user that the hub describes."""


class HubUsers:
    """Those of a hub."""

    def __init__(self, settings: ClassroomSettings) -> None:
        self._settings = settings

    def user(self, model: dict[str, Any]) -> User:
        """The user that the hub describes."""
        chosen, groups = self._settings.instructors, set(model.get("groups") or ())
        teaches = bool(model.get("admin")) or model["name"] in chosen
        return User(model["name"], teaches or bool(groups & set(self._settings.instructor_groups)))
