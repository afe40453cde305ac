"""The HTTP server of the class's tutor: under which names it answers, and how many connections it holds.

A page elsewhere could otherwise use a visitor's browser: it posts across sites (`Origin`), or gives its own
name the service's address (`Host`, "DNS rebinding"). Idle connections of strangers keep no learner out.
"""

from __future__ import annotations

import logging
import resource
import time
from collections.abc import Collection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.iostream import IOStream
from tornado.web import Application, RequestHandler, stream_request_body

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
    name = _name(host)
    if name not in hosts and not _is_address(name):
        return UNKNOWN_HOST.format(host=repr(host[:200]))
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        return OTHER_ORIGIN
    return ""


def _name(host: str) -> str:
    """Without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class OwnOrigins(Application):
    """Routes requests as usual, and refuses those that come to another name or from another page."""

    def __init__(self, handlers: list[Any], hosts: Collection[str], **settings: Any) -> None:
        # Refused requests must not fill the log.
        super().__init__(handlers, log_function=lambda handler: None, **settings)
        self.verified = WeakSet[Any]()  # streams with a signed or logged-in request, see BoundedServer
        self._hosts = {"localhost", *(host.lower() for host in hosts)}

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """What handles a request."""
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

log = logging.getLogger("nbjudge.classroom")


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


def raise_file_limit() -> None:
    """Let this process open as many files as the system allows it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
