"""A class's tutor in this process, asked as kernels ask it, with people who need no hub."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tornado.netutil import bind_sockets
from tutor_client import TutorClient

from nbjudge.classroom.board import CheckEvents
from nbjudge.classroom.request_handler import SERVER_LIMITS, AppState
from nbjudge.classroom.service import BoundedServer, application
from nbjudge.classroom.tutors import ClassTutors
from nbjudge.course import open_course
from nbjudge.settings import ClassroomSettings
from nbjudge.tutor.material import Material, TutoredAssignment
from nbjudge.tutor.signatures import Keys

COURSE = open_course(Path(__file__).parents[2])
PREFIX = "/services/tutor/"


class NamedInHeader:
    """The mixin of a browser: logged in as the header says; an admin's name begins with "prof"."""

    def get_current_user(self) -> dict[str, Any] | None:
        name = self.request.headers.get("X-Name") or self.get_argument("as", "")  # type: ignore[attr-defined]
        return {"name": name, "admin": name.startswith("prof")} if name else None


class Classroom(TutorClient):
    """The service, and what a kernel and a browser do with it."""

    def __init__(self, tutors: ClassTutors) -> None:
        self.tutors, self.keys = tutors, Keys("the service's token")
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), daemon=True).start()
        assert ready.wait(20)
        self.address = f"http://127.0.0.1:{self.port}{PREFIX.rstrip('/')}"

    def get(self, name: str, path: str) -> tuple[int, str, dict[str, str]]:
        request = Request(f"{self.address}{path}", headers={"X-Name": name} if name else {})
        try:
            with urlopen(request, timeout=20) as response:
                return response.status, response.read().decode("utf-8-sig"), dict(response.headers)
        except OSError as error:
            if not hasattr(error, "code"):
                raise
            return error.code, error.read().decode(), dict(error.headers)

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
