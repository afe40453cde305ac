"""Grading the class with nbgrader's own code, in processes that load torch and the checks once each."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from attention_lab.errors import CourseError
from attention_lab.grading.course import Lesson

LOG = "nbgrader.log"
MOST_PROCESSES = 4  # each holds torch twice: its own and its warm interpreter's
PATIENCE_WITH_THE_GRADEBOOK = 60  # seconds that SQLite waits while another process writes


@dataclass(frozen=True)
class Graded:
    """What nbgrader made of one submission: how long it took, and why there is no grade, if there is none."""

    student: str
    seconds: float
    problem: str = ""


def processes_for(students: int) -> int:
    """As many as there are cores for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, students, MOST_PROCESSES)


def grade_class(
    lesson: Lesson, students: Sequence[str], console: Console, sandbox: bool = True
) -> dict[str, Graded]:
    """Autograde and write the feedback of each student in this order, with a progress bar."""
    columns = (
        TextColumn("Grading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    graded: dict[str, Graded] = {}
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(students))
        try:
            for in_hand, done in _through_the_pool(lesson, students, sandbox):
                graded |= {each.student: each for each in done}
                progress.update(bar, description=" and ".join(in_hand), completed=len(graded))
        except BrokenProcessPool:
            log = lesson.course.root / LOG
            raise CourseError(f"A grading process ended unexpectedly; its last words are in {log}.") from None
    return graded


def _through_the_pool(
    lesson: Lesson, students: Sequence[str], sandbox: bool
) -> Iterator[tuple[list[str], list[Graded]]]:
    """(students being graded now, those just done) whenever one of them changes."""
    waiting, running = list(students), dict[Future[Graded], str]()
    # A process is started afresh rather than forked: torch's threads do not survive a fork.
    processes = processes_for(len(students))
    with ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), _open_course, (lesson.course.root, sandbox)
    ) as pool:
        while waiting or running:
            while waiting and len(running) < processes:
                student = waiting.pop(0)
                running[pool.submit(_grade, lesson.folder, student)] = student
            yield list(running.values()), []
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                del running[future]
            yield list(running.values()), [future.result() for future in done]


# ---- in the grading process -----------------------------------------------------------------

_api: Any = None  # the process's own nbgrader; NbGraderAPI is untyped


def _open_course(root: Path, sandbox: bool) -> None:
    """Load what grading needs, once; from here on everything that is printed goes to the log."""
    global _api
    log = os.open(root / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    # One thread each, kernels included: the processes already share the cores.
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    from nbgrader.apps.api import NbGraderAPI

    from attention_lab.grading.forms import course_config

    torch.set_num_threads(1)
    config = course_config(root)
    config.CourseDirectory.root = str(root)
    config.RunAndJudge.sandbox = sandbox
    config.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}?timeout={PATIENCE_WITH_THE_GRADEBOOK}"
    _api = NbGraderAPI(config=config)


def _grade(assignment: str, student: str) -> Graded:
    """`nbgrader autograde` and `nbgrader generate_feedback` for one student."""
    started = time.monotonic()
    autograded = _api.autograde(assignment, student)
    seconds = time.monotonic() - started
    problem = _logged(student, autograded)
    return Graded(student, seconds, problem or _logged(student, _api.generate_feedback(assignment, student)))


def _logged(student: str, result: dict[str, Any]) -> str:
    """Write what nbgrader said into the log; returns its last words if it failed."""
    error = str(result.get("error", ""))
    print(f"---- {student}", result.get("log", ""), error, sep="\n", flush=True)
    return "" if result["success"] else (error.strip().splitlines() or ["nbgrader failed"])[-1]
