"""Who is asking: the hub knows, by the token that it gave to a learner's server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from nbjudge.classroom.settings import ClassroomSettings

NOT_KNOWN = (
    "The tutor does not know who is asking. Stop your server (File → Hub Control Panel → Stop My Server), "
    "start it again, and run this cell once more."
)
HUB_IS_SILENT = (
    "The hub does not answer just now, so the tutor cannot tell who is asking. Your notebook is not touched: "
    "run this cell again in a minute."
)


@dataclass(frozen=True)
class Person:
    """A learner, or an instructor, who may see the board."""

    name: str
    instructor: bool = False


class HubIsSilent(Exception):
    """Nobody can say who is asking."""


class People(Protocol):
    """Says who somebody is."""

    async def by_token(self, token: str) -> Person | None:
        """The owner of a token; None where it is nobody's, or not for this service. Raises HubIsSilent."""

    def person(self, model: dict[str, Any]) -> Person:
        """Somebody as the hub describes them."""


class HubPeople:
    """Asks the hub, with the library that it has for its services."""

    def __init__(self, auth: Any, settings: ClassroomSettings) -> None:
        self._auth, self._settings = auth, settings

    async def by_token(self, token: str) -> Person | None:
        if not token:
            return None
        try:
            model = await asyncio.wait_for(self._auth.user_for_token(token, sync=False), 10)
        except Exception as error:  # the library raises tornado's HTTPError for everything
            if getattr(error, "status_code", 500) in (401, 403, 404):
                return None
            raise HubIsSilent from error
        return self.person(model) if model and self._may(model) else None

    def person(self, model: dict[str, Any]) -> Person:
        """Somebody as the hub describes them."""
        chosen, groups = self._settings.instructors, set(model.get("groups") or ())
        teaches = bool(model.get("admin")) or model["name"] in chosen
        return Person(model["name"], teaches or bool(groups & set(self._settings.instructor_groups)))

    def _may(self, model: dict[str, Any]) -> bool:
        wanted = self._auth.access_scopes
        return not wanted or bool(self._auth.check_scopes(wanted, model))
