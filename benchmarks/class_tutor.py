"""How long a class waits that checks all at once: sixty learners and one `nbjudge tutor-service`.

`python benchmarks/class_tutor.py [--learners 60] [--output FILE]`. Answers are worked out beforehand, for the
learners' kernels are on machines of their own; measured is from the check to the verdict. A hub is left out,
for its word on a token is kept for five minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import results
import torch
from rich.table import Table

from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import find_course

ROOT = Path(__file__).resolve().parents[1]
EXERCISES = {
    "dot_product": ["softmax"],
    "scaling": ["scaled_dot_product_attention"],
    "mask": ["masked_attention"],
    "multi_head": ["MultiHeadAttention"],
}
WRONG_EVERY = 3  # of the learners one in so many has a mistake, a different one each time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=int, default=60, help="how many check at once")
    parser.add_argument(
        "--output", type=Path, default=results.FOLDER / "class_tutor.json", help="for the figures"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve())
        return
    torch.set_num_threads(1)
    out = results.console()
    machine = results.surroundings(out)
    command = [sys.executable, __file__, "--serve"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    try:
        port = int(service.stdout.readline())
        rows = [_at_once(port, *each, options.learners, out) for each in _exercises()]
    finally:
        service.kill()
    table = Table("exercise", "learners", "median", "95 %", "slowest")
    for row in rows:
        seconds = (row["median"], row["percentile 95"], row["slowest"])
        table.add_row(row["exercise"], str(row["learners"]), *(f"{value:.2f} s" for value in seconds))
    out.print(table)
    results.write(options.output, machine | {"exercises": rows}, out)


def _exercises() -> list[tuple[str, Exercise, Any]]:
    course = find_course(ROOT)
    return [
        (
            course.lessons[lesson].folder,
            course.lessons[lesson].exercises[name],
            course.lessons[lesson].reference_answer(name),
        )
        for lesson, names in EXERCISES.items()
        for name in names
    ]


def _at_once(
    port: int, folder: str, exercise: Exercise, right: Any, learners: int, out: Any
) -> dict[str, Any]:
    """Every learner checks the same exercise in the same moment; seconds each waited."""
    answers = [
        exercise.mistakes[number % len(exercise.mistakes)].answer if number % WRONG_EVERY == 0 else right
        for number in range(learners)
    ]
    known: dict[tuple[int, str], str] = {}  # what an answer says to a question, worked out beforehand
    for answer in {id(each): each for each in answers}.values():
        _check(port, "rehearsal", folder, exercise.name, answer, known)
    seconds, together = [0.0] * learners, threading.Barrier(learners)

    def learner(number: int) -> None:
        together.wait()
        began = time.perf_counter()
        _check(port, f"learner {number}", folder, exercise.name, answers[number], known)
        seconds[number] = time.perf_counter() - began

    threads = [threading.Thread(target=learner, args=(number,)) for number in range(learners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.print(f"{exercise.name}: {learners} at once")
    return {
        "exercise": exercise.name,
        "learners": learners,
        "median": statistics.median(seconds),
        "percentile 95": statistics.quantiles(seconds, n=20, method="inclusive")[-1],
        "slowest": max(seconds),
    }


def _check(
    port: int, name: str, folder: str, exercise: str, answer: Any, known: dict[tuple[int, str], str]
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    reply = _post(connection, name, "/check", {"exercise": exercise, "folder": folder, "code": name})
    while "question" in reply:
        key = id(answer), reply["question"]
        if key not in known:
            setattr(sys.modules["__main__"], exercise, answer)
            known[key] = eval(reply["question"], {})
        said = {"conversation": reply["conversation"], "said": known[key], "folder": folder}
        reply = _post(connection, name, "/answer", said)
    connection.close()
    if "points" not in reply:
        raise SystemExit(f"{exercise}: {reply}")


def _post(
    connection: http.client.HTTPConnection, name: str, path: str, said: dict[str, Any]
) -> dict[str, Any]:
    connection.request("POST", f"/tutor{path}", json.dumps(said), {"Authorization": f"token {name}"})
    return dict(json.loads(connection.getresponse().read()))


async def _serve() -> None:
    """The service, with learners whose tokens are their names; prints its port when it is warm."""
    from tornado.httpserver import HTTPServer
    from tornado.netutil import bind_sockets

    from nbjudge.classroom.asking import Room
    from nbjudge.classroom.looks import Looks
    from nbjudge.classroom.people import Person
    from nbjudge.classroom.service import application
    from nbjudge.classroom.settings import ClassroomSettings
    from nbjudge.classroom.tutors import ClassTutors
    from nbjudge.tutor.material import Material, TutoredLesson

    class NamedByToken:
        async def by_token(self, token: str) -> Person:
            return Person(token)

        def person(self, model: dict[str, Any]) -> Person:
            return Person(model["name"])

    class Nobody:
        """Looks at the board."""

    torch.set_num_threads(1)
    course = find_course(ROOT)
    lessons = {course.lessons[name].folder: TutoredLesson(course.lessons[name]) for name in EXERCISES}
    settings = ClassroomSettings(keep_days=0, checks_a_minute=10_000)
    tutors = ClassTutors(Material(lessons, {}), settings, Looks(None, 0), seed=1)
    tutors.warm_up()
    (socket,) = bind_sockets(0, "127.0.0.1")
    HTTPServer(application(Room(tutors, NamedByToken()), "/tutor/", Nobody)).add_sockets([socket])
    print(socket.getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    main()
