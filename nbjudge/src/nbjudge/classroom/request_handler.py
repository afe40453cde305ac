"""The class's tutor and its board over HTTP, under the hub's proxy: kernels post what they have signed.

Of each request of a kernel first the headers are read: who asks, and whether they may now. Only then is the
body read, within a size and a time, and parsed in a thread of the judge's. The board is for a browser
that is logged in to the hub: a page, its events (server-sent events, WHATWG HTML, section 9.2) and a table.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import re
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from html import escape
from importlib.resources import files
from typing import Any

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler, authenticated, stream_request_body

from nbjudge.classroom.board import board
from nbjudge.classroom.tutors import ClassTutors
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError, is_out_of_memory
from nbjudge.settings import ClassroomSettings
from nbjudge.tutor import messages
from nbjudge.tutor.messages import Notice, Reply
from nbjudge.tutor.signatures import REPLY_SIGNATURE, Keys, SignedRequest

log = logging.getLogger("nbjudge.classroom")

WORKERS = 2  # threads in which the judge works: more of them only wait for each other
# Seconds until a thread that computes lets another one run. A message of some megabytes goes out in many
# pieces: with Python's own 5 ms between them, all of a class would wait for the one that is judged.
SWITCH_SECONDS = 0.0002
CONTENT_TYPE = "text/plain; charset=utf-8"
SMALL_BODY = 2**16  # bytes that are read and dropped of what is refused: a reset would hide the reason
LARGEST_BODY = 80 * 2**20  # bytes that are read and dropped, one body of a learner at a time
# How long a connection may idle, and a body may take (seconds); how much a page's request may have (bytes).
SERVER_LIMITS: dict[str, Any] = {
    "idle_connection_timeout": 10,
    "body_timeout": 60,
    "max_body_size": SMALL_BODY,
    "max_buffer_size": 2**20,
    "xheaders": True,
}
BOARD_SECONDS = 5.0  # for which a board without changes holds: what is stuck depends on the time, too
WRITE_SECONDS = 60  # that a learner may take to fetch a reply
LONGEST_REASON = 200  # characters of it that are logged
NOT_KNOWN = (
    "The tutor does not know who is asking. Stop your server (File → Hub Control Panel → Stop My Server), "
    "start it again, and run this cell once more."
)
NO_LENGTH = "The tutor reads only what says how long it is (Content-Length)."
NOT_READ = "The tutor cannot read this request ({error})."
OWN_FAULT = "The tutor itself failed: please tell your teacher."


TOO_OFTEN = (
    "The tutor was asked {limit} times in the last minute by you alone. Run this cell again in {seconds} s; "
    "meanwhile, the examples above test your answer."
)
ONE_AT_A_TIME = "The tutor is still busy with your last question: run this cell again when that is answered."
TOO_LARGE = (
    "Your answer is larger than the {limit} MB that the tutor reads: does it return too much, or too often?"
)
NO_MEMORY = (
    "The class's tutor has not enough memory to examine this answer: return less, or run this cell again in "
    "a minute."
)
MINUTE = 60.0  # seconds
REQUESTS_PER_CHECK = 40  # on average: a check has a handful of questions, a search for a small case many


class RequestRefusedError(Exception):
    """The message says why, and `seconds` when to ask again."""

    def __init__(self, message: str, seconds: int = 1) -> None:
        super().__init__(message)
        self.seconds = seconds


class RateLimiter:
    """Counts what each learner asks."""

    def __init__(self, checks_a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._checks_a_minute, self._clock = checks_a_minute, clock
        self._checks: dict[str, deque[float]] = defaultdict(deque)
        self._requests: dict[str, deque[float]] = defaultdict(deque)
        self._busy = set[str]()

    def begin(self, learner: str, action: str) -> None:
        """Begin a request, the learner's only one until `end`. Raises RequestRefusedError if it may not."""
        self._count(self._requests[learner], self._checks_a_minute * REQUESTS_PER_CHECK)
        if learner in self._busy:
            raise RequestRefusedError(ONE_AT_A_TIME)
        if action == "check":
            self.count_check(learner)
        self._busy.add(learner)

    def end(self, learner: str) -> None:
        """The request is answered, or its connection is closed."""
        self._busy.discard(learner)

    def count_check(self, learner: str) -> None:
        """Count a check or a request that cannot be read. Raises RequestRefusedError if too often."""
        self._count(self._checks[learner], self._checks_a_minute)

    def _count(self, times: deque[float], limit: int) -> None:
        now = self._clock()
        while times and now - times[0] >= MINUTE:
            times.popleft()
        if len(times) >= limit:
            seconds = max(1, round(MINUTE - (now - times[0]))) if times else round(MINUTE)
            raise RequestRefusedError(TOO_OFTEN.format(limit=limit, seconds=seconds), seconds)
        times.append(now)


# What mallopt(3) sets, by the number of the parameter.
ALLOCATOR_SETTINGS = {
    -1: 2**30,  # M_TRIM_THRESHOLD: bytes that stay free at the end of the heap
    -3: 2**25,  # M_MMAP_THRESHOLD: bytes of the largest block on the heap; no more is allowed
    -8: 1,  # M_ARENA_MAX
}


def keep_what_is_freed() -> None:
    """Have the C library hold on to freed memory, whatever thread freed it.

    An answer of some megabytes is received, read and forgotten. Memory that goes back to the system each time
    comes again page by page, which takes longer than all that is done with it. C libraries other than glibc
    are left alone.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in ALLOCATOR_SETTINGS.items():
        mallopt(parameter, value)


class AppState:
    """The state that all handlers share."""

    def __init__(self, tutors: ClassTutors, keys: Keys, csv_format: CsvFormat | None = None) -> None:
        self.tutors, self.keys = tutors, keys
        self.csv_format = csv_format or CsvFormat()
        self.limits = RateLimiter(tutors.settings.checks_a_minute)
        sys.setswitchinterval(SWITCH_SECONDS)
        keep_what_is_freed()
        self.workers = ThreadPoolExecutor(WORKERS, "judge")
        self.loop = asyncio.get_running_loop()
        self.changed = asyncio.Event()
        self._board: list[dict[str, Any]] = []
        self._board_of: asyncio.Event | None = None  # the change after which it was computed
        self._board_time = self._board_cost = 0.0
        self._board_worker, self._computing = ThreadPoolExecutor(1, "board"), asyncio.Lock()
        tutors.on_change = lambda: self.loop.call_soon_threadsafe(self._announce)

    async def board(self) -> list[dict[str, Any]]:
        """The board as it is now: computed in a thread of its own, and once for all pages between changes."""
        async with self._computing:
            age = time.monotonic() - self._board_time
            if self._board_of is not self.changed or age >= BOARD_SECONDS:
                # A board that takes long is made half of the time at most.
                await asyncio.sleep(max(0, self._board_cost - age))
                self._board_of, began = self.changed, time.monotonic()
                self._board = await self.loop.run_in_executor(self._board_worker, self._compute_board)
                self._board_time = time.monotonic()
                self._board_cost = self._board_time - began
            return self._board

    def _compute_board(self) -> list[dict[str, Any]]:
        self.tutors.check_events.forget_old()
        tutors = self.tutors
        check_events = list(tutors.check_events.all)  # others add to it meanwhile
        return board(check_events, tutors.order, tutors.sentence_of, tutors.settings, time.time())

    def _announce(self) -> None:
        """Wake everybody who waits; the next change has an event of its own."""
        self.changed.set()
        self.changed = asyncio.Event()


@stream_request_body
class TutorRequestHandler(RequestHandler):
    """A learner's kernel asks: a message in, a message out, errors as sentences."""

    SUPPORTED_METHODS = ("POST",)

    def initialize(self, state: AppState) -> None:
        self.state = state
        self._signed: SignedRequest | None = None
        self._has_turn = self._is_answering = False
        self._refusal: tuple[int, Notice] | None = None
        self._chunks: list[bytes] = []

    def check_xsrf_cookie(self) -> None:
        """A signature is nothing that a page elsewhere could send."""

    async def prepare(self) -> None:
        """Decide from the headers alone who asks, and whether the body is read."""
        action = self.path_args[0]
        length = self.request.headers.get("Content-Length", "")
        self._signed = self.state.keys.verify(self.request.headers.get("Authorization", ""), action)
        if self._signed is not None:
            self.application.verified.add(self.request.connection.stream)  # type: ignore[attr-defined,union-attr]
        if self._signed is None:
            self._refusal = 403, Notice(sentence=NOT_KNOWN)
        elif not re.fullmatch("[0-9]{1,12}", length) or "Transfer-Encoding" in self.request.headers:
            self._refusal = 411, Notice(sentence=NO_LENGTH)
        else:
            self._begin(self._signed, action, int(length))
        if self._refusal is None or self._has_turn:
            self.request.connection.set_max_body_size(LARGEST_BODY)  # type: ignore[union-attr]
        elif not (length.isdecimal() and int(length) <= SMALL_BODY):
            await self._send(*self._signed_reply(*self._refusal))
            self.finish()  # and the connection is closed, for its body is not read

    def _begin(self, signed: SignedRequest, action: str, length: int) -> None:
        try:
            self.state.limits.begin(signed.learner, action)
        except RequestRefusedError as refused:
            self.set_header("Retry-After", str(refused.seconds))
            self._refusal = 429, Notice(sentence=str(refused))
            return
        self._has_turn = True
        self.state.keys.remember(signed)
        limit = self.state.tutors.settings.largest_megabytes
        if length > limit * 2**20:
            self._refusal = 413, Notice(sentence=TOO_LARGE.format(limit=limit))

    def data_received(self, chunk: bytes) -> None:
        """Keep what is going to be read, and nothing else."""
        if self._refusal is None:
            self._chunks.append(chunk)

    async def post(self, action: str) -> None:
        self._is_answering = True
        try:
            if self._refusal is not None:
                await self._send(*self._signed_reply(*self._refusal))
                return
            work = self.state.loop.run_in_executor(self.state.workers, self._reply, action)
            await self._send(*await work)
        finally:
            self._end_turn()
        if not self._finished:
            self.finish()

    def on_connection_close(self) -> None:
        super().on_connection_close()
        if not self._is_answering:
            self._end_turn()

    def _end_turn(self) -> None:
        if self._has_turn and self._signed is not None:
            self.state.limits.end(self._signed.learner)
        self._has_turn = False

    def _reply(self, action: str) -> tuple[int, tuple[bytes, ...], str]:
        """Return what `_signed_reply` returns; in a thread of the judge's."""
        assert self._signed is not None
        try:
            status, content = self._result(self._signed, action)
        except RequestRefusedError as refused:
            self.set_header("Retry-After", str(refused.seconds))
            status, content = 429, Notice(sentence=str(refused))
        return self._signed_reply(status, content)

    def _result(self, signed: SignedRequest, action: str) -> tuple[int, Reply]:
        """Return what fails counts as a check, which bounds the lines of the log as well."""
        body, self._chunks = b"".join(self._chunks), []
        try:
            if not signed.has(body):
                raise ValueError("it is not what was signed")
            request = messages.decode_request(body, messages.REQUESTS[action])
        except ValueError as error:
            self.state.limits.count_check(signed.learner)
            reason = str(error)[:LONGEST_REASON]
            log.warning("A request of %r to %s was not understood (%r).", signed.learner, action, reason)
            return 400, Notice(sentence=NOT_READ.format(error=reason))
        try:
            return 200, self.state.tutors.reply(signed.learner, request)
        except CourseError as error:
            return 200, Notice(sentence=str(error))
        except Exception as error:
            self.state.limits.count_check(signed.learner)
            if is_out_of_memory(error):
                log.warning("A request of %r to %s exceeded the memory limit.", signed.learner, action)
                return 413, Notice(sentence=NO_MEMORY)
            log.exception("A request to %s failed.", action)
            return 500, Notice(sentence=OWN_FAULT)

    def _signed_reply(self, status: int, content: Reply) -> tuple[int, tuple[bytes, ...], str]:
        """Status, body and signature of a reply; no signature where the request had none."""
        parts = messages.encode(content)
        return status, parts, self._signed.reply_signature(status, parts) if self._signed else ""

    async def _send(self, status: int, parts: tuple[bytes, ...], signature: str) -> None:
        self.set_status(status)
        self.set_header("Content-Type", CONTENT_TYPE)
        self.set_header("Content-Length", sum(map(len, parts)))
        if signature:
            self.set_header(REPLY_SIGNATURE, signature)
        try:
            for part in parts:
                self.write(part)
                sent = self.flush()
                if not sent.done():  # else the turn ends before the learner's next request can be read
                    await asyncio.wait_for(sent, WRITE_SECONDS)
        except StreamClosedError:
            return
        except TimeoutError:
            self.request.connection.stream.close()  # type: ignore[union-attr]

    def write_error(self, status_code: int, **_: Any) -> None:
        self.finish({"error": OWN_FAULT if status_code >= 500 else NOT_READ.format(error=status_code)})


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
    """Return whether a user, as the hub describes them, may see the board."""
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
