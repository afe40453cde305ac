"""How a kernel on this machine reaches its tutor: in frames over a pair of pipes.

A frame holds a number and a message. A reply has the number of its request; `TutorReady` has the number 0. No
port is opened: only the process that started the tutor holds the other ends of the pipes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import BinaryIO

from nbjudge.errors import CourseError
from nbjudge.framing import read_frame, to_frame
from nbjudge.kernel import protocol
from nbjudge.tutor import messages
from nbjudge.tutor.messages import NUMBER, AnyRequest, Notice, Reply, TutorReady

NOT_READ = "The tutor cannot read this request ({error})."
FAILED = "The tutor itself failed ({error}): please report it."


def serve(
    reply_to: Callable[[AnyRequest], Reply],
    incoming: BinaryIO,
    outgoing: BinaryIO,
    warm_up: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests, each in a thread of its own, until `incoming` ends.

    Parameters
    ----------
    reply_to
        Makes the reply to a request.
    incoming, outgoing
        Where requests are read from, and replies are written to.
    warm_up
        Makes the tutor fast; afterwards it sends `TutorReady`.

    Raises
    ------
    ValueError
        If `incoming` holds something else than frames.
    """
    writing = threading.Lock()

    def send(number: bytes, reply: Reply) -> None:
        frame = to_frame(b"".join([number, *messages.encode(reply)]))
        with writing:
            outgoing.write(frame)
            outgoing.flush()

    def get_ready() -> None:
        warm_up()
        send(bytes(NUMBER), TutorReady(source=protocol.program()))

    def answer(content: bytes) -> None:
        send(content[:NUMBER], _reply(reply_to, content[NUMBER:]))

    threading.Thread(target=get_ready, daemon=True).start()
    while (content := read_frame(incoming.read, messages.LARGEST_MESSAGE)) is not None:
        threading.Thread(target=answer, args=(content,), daemon=True).start()


def _reply(reply_to: Callable[[AnyRequest], Reply], body: bytes) -> Reply:
    try:
        request = messages.decode_request(body)
    except ValueError as error:
        return Notice(sentence=NOT_READ.format(error=error))
    try:
        return reply_to(request)
    except CourseError as error:
        return Notice(sentence=str(error))
    except Exception as error:
        return Notice(sentence=FAILED.format(error=f"{type(error).__name__}: {error}"))
