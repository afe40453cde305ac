"""The tutor over HTTP: a message in, a message out (`nbjudge.tutor.wire`), one address for each thing to ask.

Whoever asks shows a token. Errors are sentences, with the status that fits.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.tutor import wire
from nbjudge.tutor.tutor import Tutor

LARGEST_REQUEST = 80 * 2**20  # bytes
CONTENT_TYPE = "text/plain; charset=utf-8"
VERSION = 2  # of what is said over the wire


def serve(tutor: Tutor, token: str, port: int = 0) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 that nobody runs yet; port 0 takes a free one."""
    return ThreadingHTTPServer(("127.0.0.1", port), _handler(tutor, token))


def _handler(tutor: Tutor, token: str) -> type[BaseHTTPRequestHandler]:
    actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "/hello": lambda said: {"version": VERSION},
        "/check": lambda said: tutor.check(str(said["exercise"]), str(said.get("folder", ""))),
        "/answer": lambda said: tutor.answer(
            str(said["conversation"]), said.get("said"), str(said.get("lost", ""))
        ),
        "/help": lambda said: tutor.help(
            str(said["exercise"]),
            said["step"],
            int(said["given"]),
            int(said["tries"]),
            str(said.get("folder", "")),
        ),
        "/one_page": lambda said: tutor.one_page(str(said["folder"]), [str(name) for name in said["right"]]),
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > LARGEST_REQUEST:
                self.close_connection = True
                self._send(413, {"error": "This is more than the tutor reads."})
                return
            body = self.rfile.read(length)
            if not hmac.compare_digest(self.headers.get("Authorization", ""), f"token {token}"):
                self._send(403, {"error": "The tutor does not know who is asking."})
            elif self.path not in actions:
                self._send(404, {"error": f"The tutor has nothing at {self.path}."})
            else:
                self._send(*_acted(actions[self.path], body))

        def _send(self, status: int, content: dict[str, Any]) -> None:
            parts = wire.write(content)
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(sum(map(len, parts))))
            self.end_headers()
            for part in parts:
                self.wfile.write(part)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: what learners ask is nobody else's."""

    return Handler


def _acted(action: Callable[[dict[str, Any]], dict[str, Any]], body: bytes) -> tuple[int, dict[str, Any]]:
    try:
        return 200, action(wire.read(body))
    except CourseError as error:
        return 200, {"error": str(error)}
    except (ValueError, KeyError, TypeError) as error:
        return 400, {"error": f"The tutor cannot read this request ({type(error).__name__}: {error})."}
    except Exception as error:
        return 500, {"error": f"The tutor itself failed ({type(error).__name__}: {error}): please report it."}
