"""The board in a browser that is logged in to the hub: a page, its events, and the same as a table.

The page is kept up to date by server-sent events (WHATWG HTML, section 9.2).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler, authenticated

from nbjudge.classroom.request_handler import AppState
from nbjudge.csv_files import CsvFormat
from nbjudge.settings import ClassroomSettings

HEARTBEAT = 15.0  # seconds after which a page on whose board nothing happens hears that the service lives
NOT_FOR_YOU = (
    "The board is for those who teach this class. If you do, ask the hub's administrator to add you."
)
COLUMNS = ["assignment", "exercise", "begun", "working", "stuck", "done", "mistakes"]
SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def is_instructor(user: Mapping[str, Any], settings: ClassroomSettings) -> bool:
    """Whether a user, as the hub describes them, may see the board."""
    groups = set(user.get("groups") or ())
    teaches = user["name"] in settings.instructors or groups & set(settings.instructor_groups)
    return bool(user.get("admin") or teaches)


class InstructorHandler(RequestHandler):
    """A page of the board's. A mixin beside it says who is logged in, as the hub describes them."""

    def initialize(self, state: AppState) -> None:
        self.state = state

    def set_default_headers(self) -> None:
        for name, value in SAFE.items():
            self.set_header(name, value)

    @authenticated
    def prepare(self) -> None:
        """Let instructors in, before any method of a page runs. Raises HTTPError 403 for others."""
        if not is_instructor(self.current_user, self.state.tutors.settings):
            raise HTTPError(403)
        self.application.verified.add(self.request.connection.stream)  # type: ignore[attr-defined,union-attr]

    def write_error(self, status_code: int, **_: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(NOT_FOR_YOU if status_code == 403 else "The board failed: look at the service's log.")


class BoardPage(InstructorHandler):
    """The page: what it shows comes as events."""

    def get(self) -> None:
        page = (files("nbjudge.classroom") / "templates" / "board.html").read_text("utf-8")
        # The hub requires it for requests that a page makes for its user.
        self.finish(page.replace("{{ xsrf }}", escape(self.xsrf_token.decode())))


class BoardEvents(InstructorHandler):
    """The whole board as one event, at once and after every change; it is small."""

    async def get(self) -> None:
        self.set_header("Content-Type", "text/event-stream")
        try:
            while True:
                changed = self.state.changed
                self.write(f"data: {json.dumps(await self.state.board())}\n\n")
                await self.flush()
                try:
                    # What is stuck depends on the time, too: the heartbeat is the board at that time.
                    await asyncio.wait_for(changed.wait(), HEARTBEAT)
                except TimeoutError:
                    continue
        except StreamClosedError:
            return


class BoardTable(InstructorHandler):
    """The same for a spreadsheet or a program."""

    async def get(self, name: str) -> None:
        rows = await self.state.board()
        self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        if name.endswith(".json"):
            self.set_header("Content-Type", "application/json")
            self.finish(json.dumps(rows, ensure_ascii=False, indent=1))
            return
        self.set_header("Content-Type", "text/csv; charset=utf-8")
        self.finish(as_csv(rows, self.state.csv_format))


def as_csv(rows: list[dict[str, Any]], csv_format: CsvFormat) -> str:
    """A line for each exercise; its mistakes in one field, each with the number of learners."""
    lines: list[list[Any]] = [COLUMNS]
    for row in rows:
        mistakes = [f"{each['name']}: {each['learners']}" for each in row["mistakes"]]
        lines.append([*(row[name] for name in COLUMNS[:-1]), mistakes])
    return csv_format.text(lines)
