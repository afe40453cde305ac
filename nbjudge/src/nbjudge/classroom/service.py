"""`nbjudge tutor-service`: the class's tutor and its board, as a service that a JupyterHub starts.

The hub gives it a name, a path, a token and an address in its environment (JUPYTERHUB_SERVICE_PREFIX and
others; JupyterHub's documentation, "Services").
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Collection
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.iostream import IOStream
from tornado.web import Application, RequestHandler, stream_request_body

from nbjudge.classroom.board import CheckEvents
from nbjudge.classroom.request_handler import (
    SERVER_LIMITS,
    AppState,
    BoardEvents,
    BoardPage,
    BoardTable,
    TutorRequestHandler,
)
from nbjudge.classroom.tutors import ClassTutors
from nbjudge.course.configuration import read_config
from nbjudge.course.course import find_course
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.fast_start import skip_address_grammar
from nbjudge.settings import ClassroomSettings
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import REQUESTS
from nbjudge.tutor.signatures import Keys

CHECK_EVENTS_FILE = Path(".classroom") / "check_events.jsonl"  # in the course's folder
NO_HUB = (
    "This is a service of a JupyterHub's: let the hub start it (nbjudge/docs/jupyterhub.md has the lines "
    "for its configuration). Its environment lacks {missing}."
)
NO_LIBRARY = "The class's tutor needs JupyterHub's library for services: pip install 'nbjudge[hub]'."
ENVIRONMENT = ("JUPYTERHUB_API_TOKEN", "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_SERVICE_URL")
# In the environment, too, where the hub knows them: by which names it and the service are reached.
ADDRESSES = ("JUPYTERHUB_SERVICE_URL", "JUPYTERHUB_PUBLIC_URL", "JUPYTERHUB_PUBLIC_HUB_URL")

log = logging.getLogger("nbjudge.classroom")


def run(course_folder: Path) -> None:
    """Serve the course of a folder until the process is ended. Raises CourseError where that cannot be."""
    missing = [name for name in ENVIRONMENT if not os.environ.get(name)]
    if missing:
        raise CourseError(NO_HUB.format(missing=", ".join(missing)))
    if find_spec("jupyterhub") is None:
        raise CourseError(NO_LIBRARY)
    skip_address_grammar()  # before anything imports nbformat
    course = find_course(course_folder)
    configuration = read_config(course.root)
    settings, csv_format = ClassroomSettings(config=configuration), CsvFormat(config=configuration)
    check_events = CheckEvents(course.root / CHECK_EVENTS_FILE, settings.keep_days)
    limit_address_space(settings.memory_mebibytes)
    tutors = ClassTutors(material_of(course, default=Disclosure.MEASURED), settings, check_events)
    threading.Thread(target=warm_up, args=(tutors,), daemon=True).start()
    asyncio.run(_serve(tutors, csv_format))


def application(
    state: AppState, prefix: str, login: type, hosts: Collection[str] = (), **settings: Any
) -> Application:
    """The service under a path (`/services/tutor/`); `login` is the mixin that says who looks at a page."""
    shared = {"state": state}

    def behind_login(handler: type) -> type:
        return type(handler.__name__, (login, handler), {})

    return OwnOrigins(
        [
            (f"{prefix}({'|'.join(REQUESTS)})", TutorRequestHandler, shared),
            (f"{prefix}board", behind_login(BoardPage), shared),
            (f"{prefix}board/events", behind_login(BoardEvents), shared),
            (f"{prefix}board/(table\\.csv|table\\.json)", behind_login(BoardTable), shared),
        ],
        {*state.tutors.settings.hosts, *hosts},
        **settings,
    )


async def _serve(tutors: ClassTutors, csv_format: CsvFormat) -> None:
    from jupyterhub.services.auth import (  # type: ignore[import-untyped]
        HubOAuthCallbackHandler,
        HubOAuthenticated,
    )

    state = AppState(tutors, Keys(os.environ["JUPYTERHUB_API_TOKEN"]), csv_format)
    prefix = os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    hosts = {urlsplit(os.environ.get(name, "")).hostname or "" for name in ADDRESSES}
    app = application(state, prefix, HubOAuthenticated, hosts - {""}, cookie_secret=os.urandom(32))
    app.add_handlers(r".*", [(f"{prefix}oauth_callback", HubOAuthCallbackHandler)])
    address = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))  # as many as the system allows
    BoundedServer(app, **SERVER_LIMITS).listen(address.port or 80, address.hostname or "127.0.0.1")
    log.info("The tutor listens at %s", address.geturl())
    await asyncio.Event().wait()


def warm_up(tutors: ClassTutors) -> None:
    """Make what every check needs, before the first one comes."""
    try:
        tutors.warm_up()
    except CourseError as error:  # an assignment whose checks do not load: the others are served
        log.warning("%s", error)
    # All of this stays. Searched again and again for what is not needed, it would cost a class that
    # checks at once a tenth of its time.
    gc.collect()
    gc.freeze()


def limit_address_space(mebibytes: int) -> None:
    """Limit the address space of this process, so that one request cannot take a machine's whole memory.

    Where it is exceeded, Python and torch raise an error in the request (see `is_out_of_memory`), and the
    service goes on. Only Linux enforces such a limit; elsewhere nothing is set.

    Parameters
    ----------
    mebibytes
        What the process may add to what it has now; 0 sets no limit.
    """
    if not mebibytes or sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + mebibytes * 2**20
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    if hard_limit != resource.RLIM_INFINITY:
        limit = min(limit, hard_limit)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


# The HTTP server: under which names it answers, and how many connections it holds. A page elsewhere could
# otherwise use a visitor's browser: it posts across sites (`Origin`), or gives its own name the service's
# address (`Host`, "DNS rebinding"). Idle connections of strangers keep no learner out.
UNKNOWN_HOST = (
    "The tutor is not known as {host}. If this is the hub's address, add its name to Classroom.hosts in "
    "nbgrader_config.py and start the service again."
)
OTHER_ORIGIN = "The tutor answers its own pages only, and this request comes from another one."


def refusal(headers: HTTPHeaders, hosts: Collection[str]) -> str:
    """Why a request with these headers is not answered, as a sentence; empty where it is.

    Parameters
    ----------
    headers : HTTPHeaders
        Of the request.
    hosts : collection of str
        The names by which the service is reached. Addresses in digits are no names, and always known.

    Returns
    -------
    str
        The sentence, or an empty string.
    """
    host, origin = headers.get("Host", ""), headers.get("Origin")
    if not _is_known(host, hosts):
        return UNKNOWN_HOST.format(host=repr(host[:200]))
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        return OTHER_ORIGIN
    return ""


def _is_known(host: str, hosts: Collection[str]) -> bool:
    """Return whether a host, which may have a port, is one of these names or an address in digits."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name in hosts or bool(ip_address(name))
    except ValueError:
        return False


class OwnOrigins(Application):
    """Routes requests as usual, and refuses those that come to another name or from another page."""

    def __init__(self, handlers: list[Any], hosts: Collection[str], **settings: Any) -> None:
        # Refused requests must not fill the log.
        super().__init__(handlers, log_function=lambda handler: None, **settings)
        self.verified = WeakSet[Any]()  # streams with a signed or logged-in request, see BoundedServer
        self._hosts = {"localhost", *(host.lower() for host in hosts)}

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Return what handles a request."""
        sentence = refusal(request.headers, self._hosts)
        if sentence:
            return self.get_handler_delegate(request, RefusedHandler, {"sentence": sentence})
        return super().find_handler(request, **kwargs)


@stream_request_body
class RefusedHandler(RequestHandler):
    """Answers before a body is read."""

    def initialize(self, sentence: str) -> None:
        self.sentence = sentence

    def prepare(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(self.sentence)

    def data_received(self, chunk: bytes) -> None:
        """Nothing of it is kept."""


MOST_OPEN = 500  # connections; below the usual limit of 1,024 open files
LOG_SECONDS = 60.0  # between two lines on connections that were closed


class BoundedServer(HTTPServer):
    """An HTTP server that closes the oldest unverified connection when too many are open.

    Its application has `verified`, a set of streams: those on which a signed or logged-in request came.
    """

    def initialize(self, application: Any, **settings: Any) -> None:  # type: ignore[override]
        super().initialize(application, **settings)
        self._verified = application.verified
        self._open: dict[Any, None] = {}  # streams, the oldest first
        self.closed, self._logged = 0, float("-inf")

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Serve a new connection, or close it where all others are verified."""
        if len(self._open) >= MOST_OPEN:
            oldest = next((each for each in self._open if each not in self._verified), stream)
            self._open.pop(oldest, None)
            oldest.close()
            self._count_closed()
            if oldest is stream:
                return
        self._open[stream] = None
        super().handle_stream(stream, address)

    def on_close(self, server_conn: Any) -> None:
        """Forget a connection."""
        self._open.pop(server_conn.stream, None)
        super().on_close(server_conn)

    def _count_closed(self) -> None:
        self.closed += 1
        now = time.monotonic()
        if now - self._logged >= LOG_SECONDS:
            self._logged = now
            log.warning(
                "More than %d connections are open; %d were closed since the start.", MOST_OPEN, self.closed
            )
