"""A class's tutor in this process, asked as kernels ask it, with people who need no hub."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tornado.netutil import bind_sockets

from nbjudge.classroom.board import CheckEvents
from nbjudge.classroom.request_handler import SERVER_LIMITS, AppState
from nbjudge.classroom.service import BoundedServer, application
from nbjudge.classroom.tutors import ClassTutors
from nbjudge.course.course import open_course
from nbjudge.kernel import protocol
from nbjudge.settings import ClassroomSettings
from nbjudge.tutor.learner.answering import respond
from nbjudge.tutor.material import Material, TutoredAssignment
from nbjudge.tutor.messages import CallRequest, Notice, Reply, decode_reply
from nbjudge.tutor.signatures import Keys, authorization

COURSE = open_course(Path(__file__).parents[2])
PREFIX = "/services/tutor/"


class NamedInHeader:
    """The mixin of a browser: logged in as the header says; an admin's name begins with "prof"."""

    def get_current_user(self) -> dict[str, Any] | None:
        name = self.request.headers.get("X-Name") or self.get_argument("as", "")  # type: ignore[attr-defined]
        return {"name": name, "admin": name.startswith("prof")} if name else None


class Classroom:
    """The service, and what a kernel and a browser do with it."""

    def __init__(self, tutors: ClassTutors) -> None:
        self.tutors, self.keys = tutors, Keys("the service's token")
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()
        assert ready.wait(20)
        self.address = f"http://127.0.0.1:{self.port}{PREFIX.rstrip('/')}"

    def post(self, name: str, action: str, message: dict[str, Any] | bytes) -> tuple[int, Reply]:
        data = as_sent(message) if isinstance(message, dict) else message
        header, _ = authorization(name, self.keys.key_of(name), action, data)
        return self.send(f"/{action}", data, Authorization=header)

    def send(self, path: str, data: bytes | None, **headers: str) -> tuple[int, Reply]:
        """Status and content of a reply to a request with these headers."""
        return self._read(Request(f"{self.address}{path}", data, headers))

    def get(self, name: str, path: str) -> tuple[int, str, dict[str, str]]:
        request = Request(f"{self.address}{path}", headers={"X-Name": name} if name else {})
        try:
            with urlopen(request, timeout=20) as response:
                return response.status, response.read().decode("utf-8-sig"), dict(response.headers)
        except OSError as error:
            if not hasattr(error, "code"):
                raise
            return error.code, error.read().decode(), dict(error.headers)

    def check(self, name: str, exercise: str, answer: object, folder: str, code: str = "") -> Reply:
        """All of a check, as a kernel of this learner's does it."""
        request = {"exercise": exercise, "folder": folder, "code": code or repr(answer)}
        _, reply = self.post(name, "check", request)
        while isinstance(reply, CallRequest):
            with _answers:
                setattr(sys.modules["__main__"], exercise, answer)
                answered = respond(protocol.program(), reply.text.decode(), vars(sys.modules["__main__"]))
            _, reply = self.post(
                name, "answer", {"conversation": reply.conversation, "text": answered, "folder": folder}
            )
        return reply

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)

        async def start() -> None:
            self.state = AppState(self.tutors, self.keys)
            app = application(self.state, PREFIX, NamedInHeader, login_url="/login")
            (socket,) = bind_sockets(0, "127.0.0.1")
            self.server = BoundedServer(app, **SERVER_LIMITS)
            self.server.add_sockets([socket])
            self.port = socket.getsockname()[1]

        self._loop.run_until_complete(start())
        ready.set()
        self._loop.run_forever()

    def _read(self, request: Request) -> tuple[int, Reply]:
        try:
            with urlopen(request, timeout=60) as response:
                return response.status, decode_reply(response.read())
        except OSError as error:
            if not hasattr(error, "code"):
                raise
            self.last_headers = dict(error.headers)
            self.last_body = error.read()
            try:
                return error.code, decode_reply(self.last_body)
            except ValueError:  # not the tutor's reply, but the server's
                return error.code, Notice(sentence=self.last_body.decode())


def as_sent(message: dict[str, Any]) -> bytes:
    """A request as a kernel sends it, whatever it holds; its text follows below the line."""
    fields = {name: value for name, value in message.items() if name != "text"}
    line = json.dumps(fields, ensure_ascii=False)
    return "\n".join([line, *([message["text"]] if "text" in message else [])]).encode(errors="replace")


_answers = threading.Lock()  # kernels have a process each; here they share one module


@contextmanager
def classroom_of(folder: Path, **settings: Any) -> Iterator[Classroom]:
    """A classroom with the lessons on dot products and masks, which keeps its check_events in a folder."""
    chosen = ClassroomSettings(**settings)
    lessons = {
        lesson.folder: TutoredAssignment(lesson)
        for lesson in COURSE.assignments.values()
        if lesson.name in ("dot_product", "mask")
    }
    check_events = CheckEvents(folder / "kept" / "check_events.jsonl", chosen.keep_days)
    service = Classroom(ClassTutors(Material(lessons), chosen, check_events, seed=1))
    try:
        yield service
    finally:
        service.close()
