"""A block of a class through each grader, started again as the person who grades would start it."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from bare_limit import SAME_CELLS
from contenders import environment, start
from courses import graded_notebook

from nbjudge.course.course import Assignment
from nbjudge.record.graded_notebook import read_graded

ATTENTION_LAB = str(Path(sys.executable).with_name("attention-lab"))
NBJUDGE = str(Path(sys.executable).with_name("nbjudge"))
LAST_WORDS = 2000  # characters


@dataclass(frozen=True)
class Block:
    """What some students of a class took, in seconds, from a grader's start to its end."""

    students: int
    seconds: float
    first_done: float  # until the first notebook was done
    a_notebook: float  # what one takes, the median

    @property
    def start_up(self) -> float:
        """Seconds until the first notebook was done, less what a notebook takes."""
        return max(0.0, self.first_done - self.a_notebook)

    @property
    def work(self) -> float:
        return self.seconds - self.start_up


def run_stock(lesson: Assignment, students: Sequence[str], log: Path) -> Block:
    """nbgrader's own command in a course that knows no plug-in; `students` are those who handed in."""
    command = [sys.executable, "-m", "nbgrader", "autograde", lesson.folder]
    seconds, moments = _run(command, lesson, students, log)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    return Block(len(students), seconds, moments[0], median(gaps))


def run_ours(lesson: Assignment, students: Sequence[str], log: Path, workers: int) -> Block:
    """`attention-lab grade` on this machine."""
    return _run_ours(ATTENTION_LAB, lesson, students, log, ["--workers", str(workers)])


def run_nbjudge(lesson: Assignment, students: Sequence[str], log: Path, workers: int) -> Block:
    """`nbjudge grade` on this machine, for a course that is not this one."""
    return _run_ours(NBJUDGE, lesson, students, log, ["--workers", str(workers)])


def run_cluster(lesson: Assignment, students: Sequence[str], log: Path, workers: int) -> Block:
    """`attention-lab grade` with a Dask cluster that is there already, but has graded nothing yet."""
    with _cluster(workers, log.parent) as address:
        return _run_ours(ATTENTION_LAB, lesson, students, log, ["--scheduler", address])


def run_limit(lesson: Assignment, students: Sequence[str], log: Path, workers: int) -> Block:
    """The bare limit in `workers` processes; the first free one takes the next notebook."""
    waiting, took, moments = deque(students), list[float](), list[float]()
    together = threading.Lock()
    started = time.perf_counter()

    def serve() -> None:
        contender = start(SAME_CELLS, lesson, log)
        try:
            with contextlib.suppress(IndexError):
                while True:
                    seconds = contender.grade(waiting.popleft())
                    with together:
                        took.append(seconds)
                        moments.append(time.perf_counter() - started)
        finally:
            contender.stop()

    with ThreadPoolExecutor(workers) as threads:
        for future in [threads.submit(serve) for _ in range(workers)]:
            future.result()
    return Block(len(students), time.perf_counter() - started, moments[0], median(took))


def _run_ours(
    program: str, lesson: Assignment, students: Sequence[str], log: Path, options: list[str]
) -> Block:
    command = [program, "grade", lesson.folder, *options]
    seconds, moments = _run(command, lesson, students, log)
    took = [read_graded(graded_notebook(lesson, student)).record.seconds for student in students]
    return Block(len(students), seconds, moments[0], median(each for each in took if each is not None))


def _run(
    command: list[str], lesson: Assignment, students: Sequence[str], log: Path
) -> tuple[float, list[float]]:
    """The seconds that a command took, and after how many each notebook was done.

    Raises SystemExit, with the command's last words, where it fails or leaves someone out.
    """
    with open(log, "w", encoding="utf-8") as log_file:
        started = time.time()
        run = subprocess.run(
            command, cwd=lesson.course.root, stdout=log_file, stderr=log_file, env=environment(), check=False
        )
        seconds = time.time() - started
    notebooks = [graded_notebook(lesson, student) for student in students]
    missing = sum(not notebook.is_file() for notebook in notebooks)
    if run.returncode != 0 or missing:
        raise SystemExit(
            f"`{' '.join(command)}` ended with {run.returncode} and left {missing} of {len(students)} "
            f"ungraded. Its last words:\n{log.read_text(errors='replace')[-LAST_WORDS:]}"
        )
    return seconds, sorted(notebook.stat().st_mtime - started for notebook in notebooks)


@contextlib.contextmanager
def _cluster(workers: int, folder: Path) -> Iterator[str]:
    """A scheduler and its workers on this machine, on free ports; gives the scheduler's address."""
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        scheduler_port=0,
        dashboard_address=None,
        local_directory=str(folder),
        silence_logs=logging.ERROR,  # a worker that takes its time to end
    ) as cluster:
        yield cluster.scheduler_address
