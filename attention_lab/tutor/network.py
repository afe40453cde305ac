"""A tutor at an address: a class's, behind its hub."""

from __future__ import annotations

import http.client
import os
from urllib.parse import urlsplit

from attention_lab.tutor.local import SECONDS
from attention_lab.tutor.location import ADDRESS, TutorMissingError
from nbjudge.classroom import signatures
from nbjudge.tutor import messages
from nbjudge.tutor.messages import AnyRequest, Reply

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

    is_ready, program = True, ""  # it runs already, and sends its program with the first calls

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise TutorMissingError(NOT_AN_ADDRESS.format(variable=ADDRESS, address=address))
        self._name, self._key = (os.environ.get(each, "") for each in (NAME, KEY))
        missing = [each for each in (NAME, KEY) if not os.environ.get(each)]
        if missing:
            raise TutorMissingError(NO_KEY.format(missing=" and ".join(missing)))
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname, parts.port, timeout=SECONDS)
        self._base = parts.path.rstrip("/")

    def send(self, request: AnyRequest) -> Reply:
        """Return the tutor's reply to a request.

        Raises OSError or ValueError if no reply came that is proven to be the tutor's, and TutorMissingError
        if the tutor does not accept this server's key.
        """
        action, body = str(request.__struct_config__.tag), b"".join(messages.encode(request))
        header, nonce = signatures.authorization(self._name, self._key, action, body)
        headers = {"Authorization": header, "Content-Type": "text/plain; charset=utf-8"}
        try:
            self._http.request("POST", f"{self._base}/{action}", body, headers)
            response = self._http.getresponse()
            reply = response.read(messages.LARGEST_MESSAGE)
        except BaseException:  # half a reply is no beginning for the next one
            self._http.close()
            raise
        signature = response.getheader(signatures.REPLY_SIGNATURE, "")
        if signatures.is_signed(signature, self._key, nonce, response.status, reply):
            return messages.decode_reply(reply)
        self._http.close()
        if response.status == 403:
            raise TutorMissingError(NOT_KNOWN)
        raise ValueError(UNPROVEN.format(status=response.status))

    def stop(self) -> None:
        """Let go of the connection."""
        self._http.close()
