"""How long a class waits that checks all at once: sixty learners and one `nbjudge tutor-service`.

`python benchmarks/class_tutor.py [--learners 60] [--only EXERCISE] [--output FILE]`. Answers are worked out
beforehand, for the learners' kernels are on machines of their own; measured is from the check to the verdict.
A hub is left out, for its word on a token is kept for five minutes.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import results
import torch
import typer

from nbjudge.authoring import Exercise
from nbjudge.course import find_course
from nbjudge.kernel import protocol
from nbjudge.tutor.learner.answering import respond
from nbjudge.tutor.messages import (
    AnyRequest,
    CallReply,
    CallRequest,
    CheckRequest,
    CheckResult,
    decode_reply,
    encode,
)
from nbjudge.tutor.signatures import Keys, authorization

KEYS = Keys("the service's token")
ROOT = Path(__file__).resolve().parents[1]
EXERCISES = {
    "dot_product": ["softmax"],
    "scaling": ["scaled_dot_product_attention"],
    "mask": ["masked_attention"],
    "multi_head": ["MultiHeadAttention"],
    "efficient_reshape": ["EfficientMultiHeadAttention"],
    "text_classifier": ["TextClassifier"],
    "kv_cache": ["CachedAttention", "GroupedQueryAttention"],
    "rotary": ["RotaryAttention"],
    "flash": ["flash_attention", "flash_backward"],
}
# One learner in three has a mistake, a different one each time; the others have every accepted alternative
# the checks know.
WRONG_EVERY = 3


def main(
    learners: Annotated[int, typer.Option(help="How many check at once.")] = 60,
    only: Annotated[list[str] | None, typer.Option(help="Of the exercises, this one.")] = None,
    output: Annotated[Path, typer.Option(help="For the figures.")] = results.FOLDER / "class_tutor.json",
    serve: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Let a class check the same exercise in the same moment."""
    if serve:
        asyncio.run(_serve())
        return
    torch.set_num_threads(1)
    out = results.console()
    machine = results.surroundings(out)
    exercises = [each for each in _exercises() if not only or each[1].name in only]
    with _service() as port:  # of its own: the other one has heard none of this before
        rehearsed = [_rehearsed(port, *each, learners) for each in exercises]
    with _service() as port:
        rows = [
            _at_once(port, exercise.name, requests, out)
            for (_, exercise, _), requests in zip(exercises, rehearsed, strict=True)
        ]
    results.show(out, rows)
    results.write(output, machine | {"exercises": rows}, out)


def _exercises() -> list[tuple[str, Exercise, Any]]:
    course = find_course(ROOT)
    return [
        (
            course.assignments[lesson].folder,
            course.assignments[lesson].exercises[name],
            course.assignments[lesson].reference_answer(name),
        )
        for lesson, names in EXERCISES.items()
        for name in names
    ]


@contextmanager
def _service() -> Iterator[int]:
    """A service on a port of its own."""
    service = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    try:
        yield int(service.stdout.readline())
    finally:
        service.kill()
        service.wait()


def _rehearsed(
    port: int, folder: str, exercise: Exercise, right: Any, learners: int
) -> list[list[AnyRequest]]:
    """Return what each learner's kernel will send, one message after the other."""
    ways = [right, *exercise.accepted_alternatives]
    answers = [
        exercise.mistakes[number // WRONG_EVERY % len(exercise.mistakes)].answer
        if number % WRONG_EVERY == 0
        else ways[number % len(ways)]
        for number in range(learners)
    ]
    said_twice: dict[int, list[list[AnyRequest]]] = {}
    for answer in answers:
        if id(answer) not in said_twice:
            said_twice[id(answer)] = [_rehearsal(port, folder, exercise.name, answer) for _ in range(2)]
    rehearsed = []
    for answer in answers:
        one, other = said_twice[id(answer)]
        # Who writes the same says the same, but for what is measured in a kernel, such as bytes held.
        rehearsed.append(
            one if _texts(one) == _texts(other) else _rehearsal(port, folder, exercise.name, answer)
        )
    return rehearsed


def _texts(requests_sent: list[AnyRequest]) -> list[bytes | None]:
    return [request.text for request in requests_sent if isinstance(request, CallReply)]


def _rehearsal(port: int, folder: str, exercise: str, answer: Any) -> list[AnyRequest]:
    program = hashlib.sha256(protocol.program().encode()).hexdigest()
    request: AnyRequest = CheckRequest(folder=folder, exercise=exercise, code="code", program=program)
    sent = list[AnyRequest]()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    while True:
        _post(connection, request, "rehearsal")
        reply = decode_reply(connection.getresponse().read())
        sent.append(request)
        if not isinstance(reply, CallRequest):
            break
        setattr(sys.modules["__main__"], exercise, answer)
        text = respond(protocol.program(), (reply.text or b"").decode(), vars(sys.modules["__main__"]))
        request = CallReply(folder=folder, conversation=reply.conversation, text=text.encode())
    connection.close()
    if not isinstance(reply, CheckResult):
        raise SystemExit(f"{exercise}: {reply}")
    return sent


def _at_once(port: int, exercise: str, learners: list[list[AnyRequest]], out: Any) -> dict[str, Any]:
    """Every learner checks the same exercise in the same moment; seconds each waited."""
    seconds, together = [0.0] * len(learners), threading.Barrier(len(learners))

    def learner(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        connection.connect()
        together.wait()
        began = time.perf_counter()
        reply: dict[str, Any] = {"conversation": ""}
        for request in learners[number]:
            if isinstance(request, CallReply):
                request = msgspec.structs.replace(request, conversation=reply["conversation"])
            reply = _heard(connection, request, f"learner {number}")
        seconds[number] = time.perf_counter() - began
        if "points" not in reply:
            out.print(f"{exercise}: {reply}")
        connection.close()

    threads = [threading.Thread(target=learner, args=(number,)) for number in range(len(learners))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    different = len({id(messages) for messages in learners})
    out.print(f"{exercise}: {len(learners)} at once, {different} answers")
    return {
        "exercise": exercise,
        "learners": len(learners),
        "answers that differ": different,
        "median": statistics.median(seconds),
        "percentile 95": statistics.quantiles(seconds, n=20, method="inclusive")[-1],
        "slowest": max(seconds),
    }


def _post(connection: http.client.HTTPConnection, request: AnyRequest, name: str) -> None:
    action, body = str(request.__struct_config__.tag), b"".join(encode(request))
    header, _ = authorization(name, KEYS.key_of(name), action, body)
    connection.request("POST", f"/tutor/{action}", body, {"Authorization": header})


def _heard(connection: http.client.HTTPConnection, request: AnyRequest, name: str) -> dict[str, Any]:
    """A reply without its long text, which is read away: what a kernel does with it is its machine's work."""
    _post(connection, request, name)
    response = connection.getresponse()
    head = json.loads(response.readline())
    buffer = bytearray(2**18)
    while response.readinto(buffer):
        pass
    return dict(head)


async def _serve() -> None:
    """The service; prints its port when it is warm."""
    from tornado.httpserver import HTTPServer
    from tornado.netutil import bind_sockets

    from nbjudge.classroom.board import CheckEvents
    from nbjudge.classroom.request_handler import SERVER_LIMITS, AppState
    from nbjudge.classroom.service import application, warm_up
    from nbjudge.classroom.tutors import ClassTutors
    from nbjudge.settings import ClassroomSettings
    from nbjudge.tutor.material import Material, TutoredAssignment

    class NoLogin:
        """Looks at the board."""

    torch.set_num_threads(1)
    course = find_course(ROOT)
    lessons = {
        course.assignments[name].folder: TutoredAssignment(course.assignments[name]) for name in EXERCISES
    }
    settings = ClassroomSettings(keep_days=0, checks_a_minute=10_000)
    tutors = ClassTutors(Material(lessons), settings, CheckEvents(None, 0), seed=1)
    warm_up(tutors)
    (socket,) = bind_sockets(0, "127.0.0.1")
    HTTPServer(application(AppState(tutors, KEYS), "/tutor/", NoLogin), **SERVER_LIMITS).add_sockets([socket])
    print(socket.getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    typer.run(main)
