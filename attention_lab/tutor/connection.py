"""Talks to a tutor over HTTP: to a process on this machine, or to the address of another one."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attention_lab.tutor.local import NO_TUTOR, LocalTutor, TutorMissing, course_folder, start_tutor

ADDRESS, TOKEN = "ATTENTION_LAB_TUTOR", "ATTENTION_LAB_TUTOR_TOKEN"  # environment variables
HUBS_TOKEN = "JUPYTERHUB_API_TOKEN"  # which a hub gives to every learner's server: it says whose
OFF = "off"  # as an address: there is to be no tutor
SECONDS = 150  # that the tutor may take for one reply: it prepares an exercise while it is asked first
GONE = "The tutor has stopped answering ({reason}). Run this cell again: it is then started anew."


def has_tutor() -> bool:
    """Whether `check` has somebody to ask: at the address that is set, or on this machine."""
    address = os.environ.get(ADDRESS)
    return address != OFF and (address is not None or course_folder() is not None)


class Connection:
    """One tutor. `ask` starts it, where it is this machine's, and starts it again where it has died."""

    def __init__(self, last_words: Path | None = None) -> None:
        self.last_words = last_words
        self._local: LocalTutor | None = None
        self._http: http.client.HTTPConnection | None = None

    def begin(self, folder: str) -> None:
        """Have this machine's tutor start, so that it is there when the first answer is written."""
        if os.environ.get(ADDRESS) == OFF:
            raise TutorMissing(NO_TUTOR)
        if ADDRESS not in os.environ and self._local is None:
            self._local = start_tutor(folder, self.last_words)

    def ask(self, path: str, folder: str, **said: Any) -> dict[str, Any]:
        """The tutor's reply. Raises TutorMissing, with a sentence, where there is none."""
        # A new one has forgotten what the last one was asking.
        attempts = 1 if path == "/answer" else 2
        for attempt in range(1, attempts + 1):
            try:
                return self._post(path, folder, said)
            except TutorMissing:
                self.close()
                raise
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.close()
                if attempt == attempts:
                    raise TutorMissing(GONE.format(reason=error or type(error).__name__)) from None
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Let go of it; this machine's tutor ends."""
        if self._http is not None:
            self._http.close()
        if self._local is not None:
            self._local.stop()
        self._http = self._local = None

    def _post(self, path: str, folder: str, said: dict[str, Any]) -> dict[str, Any]:
        base, token = self._address(folder)
        assert self._http is not None
        headers = {"Authorization": f"token {token}", "Content-Type": "text/plain; charset=utf-8"}
        try:
            self._http.request("POST", f"{base}{path}", _written({"folder": folder, **said}), headers)
            response = self._http.getresponse()
            reply = _read(response.read())
        except KeyboardInterrupt:  # half a reply is no beginning for the next one
            self._http.close()
            raise
        return reply

    def _address(self, folder: str) -> tuple[str, str]:
        """The path that the tutor's addresses begin with, and the token it wants."""
        address = os.environ.get(ADDRESS, OFF)
        if address != OFF:
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or parts.hostname is None:
                raise TutorMissing(f"{ADDRESS} is {address!r}: it has to begin with http:// or https://.")
            if self._http is None:
                kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
                self._http = kind(parts.hostname, parts.port, timeout=SECONDS)
            return parts.path.rstrip("/"), os.environ.get(TOKEN) or os.environ.get(HUBS_TOKEN, "")
        self.begin(folder)
        assert self._local is not None
        if self._http is None:
            self._http = http.client.HTTPConnection("127.0.0.1", self._local.port(), timeout=SECONDS)
        return "", self._local.token


# As `nbjudge.tutor.wire` has it, which a learner of a class does not have: the one long text of a message
# stands below a line of JSON that says what it is.
def _written(message: dict[str, Any]) -> bytes:
    if message.get("said") is None:
        return json.dumps(message).encode()
    head = {name: value for name, value in message.items() if name != "said"} | {"below": "said"}
    return b"".join([json.dumps(head).encode(), b"\n", str(message["said"]).encode(errors="replace")])


def _read(body: bytes) -> dict[str, Any]:
    head, has_text, text = body.partition(b"\n")
    reply = json.loads(head)
    if not isinstance(reply, dict) or (has_text and reply.get("below") != "question"):
        raise ValueError("no reply that is understood")
    return reply | ({"question": text} if has_text else {})
