"""Messages to a tutor and its replies as bytes, and the program of its that answers questions.

As `nbjudge.tutor.wire` has it, which a learner of a class does not have: the one long text of a message comes
below a line of JSON that says what it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

LARGEST_REPLY = 2**28  # bytes of one reply of the tutor's
LARGEST_ANSWER = 64 * 2**20  # characters that a question's answer may have


@dataclass(frozen=True)
class Question:
    """Calls of an answer that the tutor wants made: data for the program of this digest."""

    conversation: str
    request: str
    program: str

    @classmethod
    def of(cls, reply: dict[str, Any]) -> Question | None:
        """The question in a reply; None where it is a result. Raises ValueError if it is malformed."""
        if "question" not in reply:
            return None
        conversation, request, program = reply.get("conversation"), reply["question"], reply.get("program")
        if not (isinstance(conversation, str) and isinstance(request, bytes) and isinstance(program, str)):
            raise ValueError("a question that is not of the agreed form")
        return cls(conversation, request.decode("ascii"), program)


def written(message: dict[str, Any]) -> bytes:
    """A message as it is sent."""
    if message.get("said") is None:
        return json.dumps(message).encode()
    head = {name: value for name, value in message.items() if name != "said"} | {"below": "said"}
    return b"".join([json.dumps(head).encode(), b"\n", str(message["said"]).encode(errors="replace")])


def read(body: bytes) -> dict[str, Any]:
    """A reply as it was sent. Raises ValueError for anything else, such as a malformed question."""
    head, has_text, text = body.partition(b"\n")
    reply = json.loads(head)
    if not isinstance(reply, dict) or (has_text and reply.get("below") != "question"):
        raise ValueError("no reply that is understood")
    reply |= {"question": text} if has_text else {}
    Question.of(reply)
    return reply


def respond(source: str, request: str, names: dict[str, Any]) -> str:
    """Answer a request with the tutor's program, which is loaded again for each: it remembers nothing.

    Parameters
    ----------
    source : str
        The program. It comes from this machine's own tutor, or with the signature of the class's.
    request : str
        The packed calls; the program reads them within bounds.
    names : dict
        The names of the notebook, among them the answer.

    Returns
    -------
    str
        The packed answers.
    """
    space: dict[str, Any] = {"__name__": "nbjudge_respond", "__file__": "<nbjudge>"}
    exec(_compiled(source), space)
    answer: Callable[[str, dict[str, Any]], str] = space["respond"]
    return answer(request, names)


@lru_cache(maxsize=2)
def _compiled(source: str) -> CodeType:
    return compile(source, "<nbjudge>", "exec", dont_inherit=True)
