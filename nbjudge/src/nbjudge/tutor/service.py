"""What a tutor can be asked, and how a kernel on this machine asks it: in frames over a pair of pipes.

A frame is its length in eight bytes, and a message (`nbjudge.tutor.wire`). A request has a number, which its
reply repeats. No port is opened: only the process that started the tutor holds the other ends of the pipes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from nbjudge.errors import CourseError
from nbjudge.tutor import wire
from nbjudge.tutor.tutor import Reply, Tutor, for_learner

LARGEST_FRAME = 2**28  # bytes
LONGEST_NAME = 200  # characters of an exercise's name that are read
MOST_COUNTED = 1_000_000
LENGTH = 8  # bytes of a frame's length, big-endian
ACTIONS = ("program", "check", "answer", "help", "one_page")


def act(tutor: Tutor, action: str, message: Mapping[str, Any]) -> Reply:
    """Have the tutor do what a message asks for.

    Parameters
    ----------
    tutor : Tutor
        The tutor of the kernel that asks.
    action : str
        One of `ACTIONS`.
    message : mapping
        The arguments by name.

    Returns
    -------
    dict
        The tutor's reply: a question for the kernel, or a result.

    Raises
    ------
    CourseError
        If the course has no such exercise or assignment.
    ValueError, KeyError, TypeError
        If the message is not of the agreed form.
    """
    folder = str(message.get("folder", ""))
    if action == "program":
        return tutor.program()
    if action == "check":
        return tutor.check(_exercise(message), folder)
    if action == "answer":
        return tutor.answer(str(message["conversation"]), message.get("said"), str(message.get("lost", "")))
    if action == "help":
        given, tries = _count(message["given"]), _count(message["tries"])
        return tutor.help(_exercise(message), message["step"], given, tries, folder)
    if action == "one_page":
        return tutor.one_page(folder, [str(name) for name in message["right"]])
    raise ValueError(f"there is no action {action[:50]!r}")


def _exercise(message: Mapping[str, Any]) -> str:
    return str(message["exercise"])[:LONGEST_NAME]


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST_COUNTED:
        raise ValueError(f"a number that is no count from 0 to {MOST_COUNTED}")
    return value


def serve(
    reply_to: Callable[[str, Mapping[str, Any]], Reply], incoming: BinaryIO, outgoing: BinaryIO
) -> None:
    """Answer requests, each in a thread of its own, until `incoming` ends.

    Parameters
    ----------
    reply_to : callable
        Makes the reply to an action and its message.
    incoming, outgoing : binary file
        Where requests are read from, and replies are written to.

    Raises
    ------
    ValueError
        If `incoming` holds something else than frames.
    """
    writing = threading.Lock()

    def answer(body: bytes) -> None:
        number, reply = _reply(reply_to, body)
        parts = wire.write({"number": number, **reply})
        with writing:
            outgoing.write(sum(map(len, parts)).to_bytes(LENGTH, "big"))
            for part in parts:
                outgoing.write(part)
            outgoing.flush()

    while (body := _read_frame(incoming)) is not None:
        threading.Thread(target=answer, args=(body,), daemon=True).start()


def _read_frame(incoming: BinaryIO) -> bytes | None:
    """The next frame; None at the end."""
    length = int.from_bytes(prefix := incoming.read(LENGTH), "big")
    if length > LARGEST_FRAME:
        raise ValueError("a frame that is longer than the tutor reads")
    body = incoming.read(length)
    return body if len(prefix) == LENGTH and len(body) == length else None


def _reply(reply_to: Callable[[str, Mapping[str, Any]], Reply], body: bytes) -> tuple[Any, Reply]:
    number = None
    try:
        message = wire.read(body)
        number = message["number"]
        return number, for_learner(reply_to(message["action"], message))
    except CourseError as error:
        return number, {"error": str(error)}
    except (ValueError, KeyError, TypeError) as error:
        return number, {"error": f"The tutor cannot read this request ({type(error).__name__}: {error})."}
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return number, {"error": f"The tutor itself failed ({reason}): please report it."}
