"""The class's tutor over HTTP, under the hub's proxy: kernels post with their server's token."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tornado.web import RequestHandler

from nbjudge.classroom.board import as_data, board
from nbjudge.classroom.limits import TOO_LARGE, Refused
from nbjudge.classroom.memory import keep_what_is_freed
from nbjudge.classroom.people import HUB_IS_SILENT, NOT_KNOWN, HubIsSilent, People, Person
from nbjudge.classroom.tutors import ClassTutors
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.tutor import wire
from nbjudge.tutor.service import CONTENT_TYPE, VERSION

log = logging.getLogger("nbjudge.classroom")

WORKERS = 2  # threads in which the judge works: more of them only wait for each other
# Seconds until a thread that computes lets another one run. A message of some megabytes goes out in many
# pieces: with Python's own 5 ms between them, all of a class would wait for whoever is judged.
SWITCH_SECONDS = 0.0002
ACTIONS = ("check", "answer", "help", "one_page")


class Room:
    """What all handlers share."""

    def __init__(self, tutors: ClassTutors, people: People, csv_format: CsvFormat | None = None) -> None:
        self.tutors, self.people, self.csv_format = tutors, people, csv_format or CsvFormat()
        sys.setswitchinterval(SWITCH_SECONDS)
        keep_what_is_freed()
        self.workers = ThreadPoolExecutor(WORKERS, "judge")
        self.loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        tutors.when_changed(lambda: self.loop.call_soon_threadsafe(self._announce))

    def board(self) -> list[dict[str, Any]]:
        self.tutors.looks.forget_old()
        tutors = self.tutors
        shown = board(tutors.looks.all, tutors.order, tutors.sentence_of, tutors.settings, time.time())
        return as_data(shown)

    def _announce(self) -> None:
        """Wake everybody who waits; the next change has an event of its own."""
        self.changed.set()
        self.changed = asyncio.Event()


class AskHandler(RequestHandler):
    """A learner's kernel asks: a message in, a message out, errors as sentences."""

    def initialize(self, room: Room) -> None:
        self.room = room

    def check_xsrf_cookie(self) -> None:
        """A token in a header is nothing that a page elsewhere could send."""

    async def post(self, action: str) -> None:
        most = self.room.tutors.settings.largest_megabytes
        if len(self.request.body) > most * 2**20:
            return self._send(413, {"error": TOO_LARGE.format(most=most)})
        try:
            person = await self._person()
        except HubIsSilent:
            return self._send(503, {"error": HUB_IS_SILENT})
        if person is None:
            return self._send(403, {"error": NOT_KNOWN})
        if action == "hello":
            return self._send(200, {"version": VERSION})
        try:
            reply = await self.room.loop.run_in_executor(
                self.room.workers, self._reply, person.name, f"/{action}"
            )
        except Refused as refused:
            return self._send(429, {"error": str(refused)})
        except CourseError as error:
            return self._send(200, {"error": str(error)})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("A request to %s was not understood.", action, exc_info=True)
            return self._send(400, {"error": f"The tutor cannot read this request ({type(error).__name__})."})
        self._send(200, reply)

    def _reply(self, name: str, path: str) -> dict[str, Any]:
        return self.room.tutors.reply(name, path, wire.read(self.request.body))

    def _person(self) -> Awaitable[Person | None]:
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        return self.room.people.by_token(token.strip() if kind == "token" else "")

    def _send(self, status: int, content: dict[str, Any]) -> None:
        self.set_status(status)
        self.set_header("Content-Type", CONTENT_TYPE)
        parts = wire.write(content)
        self.set_header("Content-Length", sum(map(len, parts)))
        for part in parts:
            self.write(part)
            self.flush()
        self.finish()

    def write_error(self, status_code: int, **_: Any) -> None:
        self._send(status_code, {"error": "The tutor itself failed: please tell whoever teaches this class."})
