"""A tutor at an address: a class's, behind its hub."""

from __future__ import annotations

import http.client
import os
from typing import Any
from urllib.parse import urlsplit

from attention_lab.tutor import signatures, wire
from attention_lab.tutor.local import SECONDS, TutorMissing

ADDRESS = "ATTENTION_LAB_TUTOR"  # environment variables
KEY, NAME = "ATTENTION_LAB_TUTOR_KEY", "JUPYTERHUB_USER"
NOT_AN_ADDRESS = "{variable} is {address!r}: it has to begin with http:// or https://."
NO_KEY = (
    "The class's tutor needs {missing} in this server's environment, to prove that it is the tutor. Ask "
    "the person who runs the hub to set it (docs/jupyterhub.md)."
)
NOT_KNOWN = (
    "The class's tutor did not accept this server's key. Stop your server (File → Hub Control Panel → Stop "
    "My Server), start it again, and run this cell once more."
)
UNPROVEN = "HTTP {status} without proof that it comes from the class's tutor; nothing of it was used"


class NetworkTutor:
    """A tutor that proves with each reply that it knows this learner's key."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise TutorMissing(NOT_AN_ADDRESS.format(variable=ADDRESS, address=address))
        self._name, self._key = (os.environ.get(each, "") for each in (NAME, KEY))
        missing = [each for each in (NAME, KEY) if not os.environ.get(each)]
        if missing:
            raise TutorMissing(NO_KEY.format(missing=" and ".join(missing)))
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname, parts.port, timeout=SECONDS)
        self._base = parts.path.rstrip("/")

    def ask(self, action: str, message: dict[str, Any]) -> dict[str, Any]:
        """The tutor's reply.

        Raises OSError or ValueError where none came that is proven to be the tutor's, and TutorMissing where
        the tutor does not accept this server's key.
        """
        body = wire.written(message)
        header, nonce = signatures.authorization(self._name, self._key, action, body)
        headers = {"Authorization": header, "Content-Type": "text/plain; charset=utf-8"}
        try:
            self._http.request("POST", f"{self._base}/{action}", body, headers)
            response = self._http.getresponse()
            reply = response.read(wire.LARGEST_REPLY)
        except BaseException:  # half a reply is no beginning for the next one
            self._http.close()
            raise
        signature = response.getheader(signatures.REPLY_SIGNATURE, "")
        if signatures.is_signed(signature, self._key, nonce, response.status, reply):
            return wire.read(reply)
        self._http.close()
        if response.status == 403:
            raise TutorMissing(NOT_KNOWN)
        raise ValueError(UNPROVEN.format(status=response.status))

    def stop(self) -> None:
        """Let go of the connection."""
        self._http.close()
