"""`python -m nbjudge.tutor.service COURSE [ASSIGNMENT [FILE]]`: a tutor for the kernel that started it.

Requests come in frames over standard input, replies go out over standard output. A frame holds a number and a
message. A reply has the number of its request; `TutorReady` has the number 0. No port is opened: only the
process that started the tutor holds the other ends of the pipes. When standard input ends, because the kernel
has ended, so does the tutor; where that was in the middle of a check, it leaves the exercise's name in FILE.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from nbjudge.course.course import find_course
from nbjudge.errors import CourseError
from nbjudge.fast_start import no_collection, skip_address_grammar
from nbjudge.framing import read_frame, to_frame
from nbjudge.kernel import protocol
from nbjudge.tutor import messages
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import NUMBER, AnyRequest, Notice, Reply, TutorReady
from nbjudge.tutor.tutor import Tutor

NOT_READ = "The tutor cannot read this request ({error})."
FAILED = "The tutor itself failed ({error}): please report it."


def serve(
    reply_to: Callable[[AnyRequest], Reply],
    incoming: BinaryIO,
    outgoing: BinaryIO,
    warm_up: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests, each in a thread of its own, until `incoming` ends.

    `warm_up` makes the tutor fast; afterwards it sends `TutorReady`. Raises ValueError if `incoming` holds
    something else than frames.
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


def main(course: str, folder: str = "", last_words: str = "") -> None:
    skip_address_grammar()  # before anything imports nbformat
    # Standard input and output, for messages alone: what prints or reads here meets stderr or nothing.
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    try:
        material = material_of(find_course(Path(course)))
    except CourseError as error:
        notice = Notice(sentence=str(error))
        serve(lambda _: notice, incoming, outgoing)
        return
    tutor = Tutor(material)

    def warm_up() -> None:
        """Load the libraries and the assignment's first exercise before a learner waits for them."""
        assignment = material.assignments.get(folder)
        with no_collection(), suppress(CourseError):  # the check itself will say so
            if assignment is not None:
                tutor.prepare(assignment, assignment.coded[0])

    serve(tutor.reply, incoming, outgoing, warm_up)  # until the kernel has ended
    if last_words and tutor.called_exercise:
        with suppress(OSError):
            Path(last_words).parent.mkdir(exist_ok=True)
            Path(last_words).write_text(tutor.called_exercise, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
