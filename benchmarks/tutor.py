"""How long a `check` takes: every exercise, looked at again and again, beside calling the answer itself.

`python benchmarks/tutor.py [--checks 5] [--output FILE]`. The answers are the course's own. What the answer
takes is measured inside each check, while the tutor waits: both see the same machine.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import results
import typer

from nbjudge.course import find_course
from nbjudge.tutor.learner import checking
from nbjudge.tutor.messages import CheckRequest, CheckResult

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 0.5  # seconds, after the first


def main(
    checks: Annotated[int, typer.Option(help="How often each exercise is looked at again.")] = 5,
    output: Annotated[Path, typer.Option(help="For the figures.")] = results.FOLDER / "tutor.json",
) -> None:
    """Check every solution again and again, beside calling it."""
    out = results.console()
    machine = results.surroundings(out)
    began = time.perf_counter()
    checking.connection.begin("01_dot_product")
    while checking.connection.is_starting:
        time.sleep(0.01)
    started = time.perf_counter() - began
    rows = list(_rows(checks))
    results.show(out, rows, "Seconds, and the ratio of a later check to the answer itself")
    repeats = sorted(row["again"] for row in rows)
    ratio = statistics.median(row["ratio"] for row in rows)
    slow = [row["exercise"] for row in rows if row["again"] > LIMIT]
    out.print(
        f"Started after {started:.2f} s. Again: median {statistics.median(repeats):.3f} s, slowest "
        f"{repeats[-1]:.3f} s, over {LIMIT} s: {', '.join(slow) or 'none'}; ratio: median {ratio:.2f}."
    )
    results.write(output, machine | {"started": started, "exercises": rows}, out)


def _rows(checks: int) -> Iterator[dict[str, Any]]:
    names = vars(sys.modules["__main__"])
    for lesson in find_course(ROOT).assignments.values():
        for exercise in lesson.exercises:
            names[exercise] = lesson.reference_answer(exercise)
            first, _ = _check(lesson.folder, exercise)
            looks = [_check(lesson.folder, exercise) for _ in range(checks)]
            repeat, answer = (statistics.median(column) for column in zip(*looks, strict=True))
            yield {
                "exercise": exercise,
                "first": first,
                "again": repeat,
                "answer": answer,
                "ratio": statistics.median(total / own for total, own in looks),
            }


def _check(folder: str, exercise: str) -> tuple[float, float]:
    """Seconds of one check, and of answering its questions."""
    answering = 0.0

    def timed(work: Callable[[], str]) -> Any:
        nonlocal answering
        began = time.perf_counter()
        result = untimed(work)
        answering += time.perf_counter() - began
        return result

    untimed = checking.answer
    checking.answer = timed
    try:
        began = time.perf_counter()
        request = CheckRequest(folder=folder, exercise=exercise, program=checking.connection.digest)
        reply, _ = checking.converse(request)
        total = time.perf_counter() - began
    finally:
        checking.answer = untimed
    if not isinstance(reply, CheckResult) or reply.points != reply.max_points:
        raise SystemExit(f"The tutor took points from the solution of {exercise}: {reply}")
    return total, answering


if __name__ == "__main__":
    typer.run(main)
