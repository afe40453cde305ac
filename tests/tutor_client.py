"""What kernels of learners do with a class's tutor, wherever it is served."""

import json
import sys
import threading
from typing import Any
from urllib.request import Request, urlopen

from nbjudge.kernel import protocol
from nbjudge.tutor.learner.answering import respond
from nbjudge.tutor.messages import CallRequest, Notice, Reply, decode_reply
from nbjudge.tutor.signatures import Keys, authorization

_answers = threading.Lock()  # kernels have a process each; here they share one module


class TutorClient:
    """Asks the tutor at `address`, each learner with a key of their own."""

    address: str
    keys: Keys

    def post(
        self, name: str, action: str, message: dict[str, Any] | bytes, key: str = ""
    ) -> tuple[int, Reply]:
        data = as_sent(message) if isinstance(message, dict) else message
        header, _ = authorization(name, key or self.keys.key_of(name), action, data)
        return self.send(f"/{action}", data, Authorization=header)

    def send(self, path: str, data: bytes | None, **headers: str) -> tuple[int, Reply]:
        """Status and content of a reply to a request with these headers."""
        try:
            with urlopen(Request(f"{self.address}{path}", data, headers), timeout=60) as response:
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

    def check(self, name: str, exercise: str, answer: object, folder: str, code: str = "") -> Reply:
        """All of a check, as a kernel of this learner's does it."""
        request = {"exercise": exercise, "folder": folder, "code": code or repr(answer)}
        _, reply = self.post(name, "check", request)
        while isinstance(reply, CallRequest):
            with _answers:
                setattr(sys.modules["__main__"], exercise, answer)
                answered = respond(protocol.program(), reply.text.decode(), vars(sys.modules["__main__"]))
            message = {"conversation": reply.conversation, "text": answered, "folder": folder}
            _, reply = self.post(name, "answer", message)
        return reply


def as_sent(message: dict[str, Any]) -> bytes:
    """A request as a kernel sends it, whatever it holds; its text follows below the line."""
    fields = {name: value for name, value in message.items() if name != "text"}
    line = json.dumps(fields, ensure_ascii=False)
    return "\n".join([line, *([message["text"]] if "text" in message else [])]).encode(errors="replace")
