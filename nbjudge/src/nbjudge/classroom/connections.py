"""How many connections the class's tutor holds open: idle ones of strangers keep no learner out."""

from __future__ import annotations

import logging
import resource
import time
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

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
