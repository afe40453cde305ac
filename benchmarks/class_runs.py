"""A class cut into blocks, each of which goes through every grader in turn; and what that took."""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import bare_limit
import psutil
import results
from courses import graded_notebook, not_in_full
from rich.console import Console
from rich.progress import track
from rich.table import Table

from nbjudge import read_graded
from nbjudge.course import Assignment

CORES = 2
ATTENTION_LAB = str(Path(sys.executable).with_name("attention-lab"))
NBJUDGE = str(Path(sys.executable).with_name("nbjudge"))
STOCK, OURS = "stock", "ours"
LAST_WORDS = 2000  # characters
BETWEEN_LOOKS = 0.25  # seconds


@dataclass(frozen=True)
class Block:
    """The seconds that some students of a class took, from a grader's start to its end."""

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


Run = Callable[[Assignment, Sequence[str], Path], Block]


def run_stock(lesson: Assignment, students: Sequence[str], log: Path) -> Block:
    """Grade with nbgrader's own command, which grades everybody who has handed in."""
    command = [sys.executable, "-m", "nbgrader", "autograde", lesson.folder]
    seconds, moments = _run(command, lesson, students, log)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    return Block(len(students), seconds, moments[0], median(gaps))


def run_ours(
    lesson: Assignment,
    students: Sequence[str],
    log: Path,
    program: str = ATTENTION_LAB,
    options: Sequence[str] = ("--workers", str(CORES)),
) -> Block:
    """Grade with `attention-lab grade`, or with `nbjudge grade` for a course that is not this one."""
    seconds, moments = _run([program, "grade", lesson.folder, *options], lesson, students, log)
    took = [read_graded(graded_notebook(lesson, student)).record.seconds for student in students]
    return Block(len(students), seconds, moments[0], median(each for each in took if each is not None))


def run_cluster(lesson: Assignment, students: Sequence[str], log: Path, workers: int) -> Block:
    """Grade on a Dask cluster that is there already, but has graded nothing yet."""
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        scheduler_port=0,
        dashboard_address=None,
        local_directory=str(log.parent),
        silence_logs=logging.ERROR,  # a worker that takes its time to end
    ) as cluster:
        return run_ours(lesson, students, log, options=["--scheduler", cluster.scheduler_address])


def run_limit(lesson: Assignment, students: Sequence[str], _log: Path, workers: int) -> Block:
    """Run the bare limit in `workers` processes; the first free one takes the next notebook."""
    os.environ.update(environment())  # for the processes that it starts
    started = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    arguments = (lesson.course.root, lesson.folder)
    with ProcessPoolExecutor(workers, spawn, bare_limit.warm_up, arguments) as pool:
        done = as_completed([pool.submit(bare_limit.run, student) for student in students])
        took = [(future.result(), time.perf_counter() - started) for future in done]
        seconds = time.perf_counter() - started
    return Block(len(students), seconds, took[0][1], median(each for each, _ in took))


LIMITS: dict[str, Run] = {
    "limit": partial(run_limit, workers=CORES),
    "limit of 1": partial(run_limit, workers=1),
}
RUNS: dict[str, Run] = {
    STOCK: run_stock,
    OURS: run_ours,
    **LIMITS,
    "cluster of 1": partial(run_cluster, workers=1),
    "cluster of 2": partial(run_cluster, workers=2),
}


def measure(
    courses: dict[str, Assignment],
    runs: dict[str, Run],
    hand_in: Callable[[Assignment, Sequence[str]], None],
    students: Sequence[str],
    by_stock: int,
    blocks: int,
    console: Console,
) -> dict[str, Any]:
    """Let a class go through each grader, block by block.

    Parameters
    ----------
    courses, runs
        By grader: its own course, and how it is run there.
    hand_in
        Lets some students, and no one else, have handed in.
    students, by_stock
        The class, and how many of it stock grades, some of each block.
    blocks
        How many blocks it is cut into.

    Returns
    -------
    dict
        By grader: seconds of the class with one start, those of a notebook in each block, and how many were
        graded.

    Raises
    ------
    SystemExit
        If a block is too small, or a grader takes points from anybody.
    """
    if not 1 <= blocks <= by_stock // 2 or by_stock > len(students):
        raise SystemExit("Every block needs at least two students, for stock as well.")
    # On a larger machine, too, everything is measured on as many cores as the goals speak of.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    taken: dict[str, list[Block]] = {name: [] for name in courses}
    turns = [(number, name) for number in range(blocks) for name in courses]
    for number, name in track(turns, "Grading", console=console, transient=True):
        course = courses[name]
        block = students[number : by_stock if runs[name] is run_stock else None : blocks]
        hand_in(course, block)
        taken[name].append(runs[name](course, block, course.course.root.parent / f"{name}.log"))
        if name not in LIMITS and (missed := not_in_full(course, block)):
            raise SystemExit(
                f"{name} does not give all points to {len(missed)} of {len(block)} ({missed[0]} is the "
                "first): its seconds mean nothing."
            )
    return {name: _figures(blocks_of, len(students)) for name, blocks_of in taken.items()}


def _figures(blocks: list[Block], students: int) -> dict[str, Any]:
    graded, start_up = sum(block.students for block in blocks), median(block.start_up for block in blocks)
    work = sum(block.work for block in blocks) / graded * students
    return {
        "start_up_seconds": start_up,
        "seconds": start_up + work,
        "seconds_a_notebook": [block.work / block.students for block in blocks],
        "graded": graded,
    }


def table_of(graders: dict[str, Any], title: str, goals: dict[str, float]) -> Table:
    """Tabulate the figures of graders; `goals` are in times of stock's time."""
    table = Table(
        "", "start", "the class, start included", "a notebook: median (quartiles) of the blocks",
        "times stock", "goal", title=title,
    )  # fmt: skip
    for name, figures in graders.items():
        table.add_row(
            name,
            f"{figures['start_up_seconds']:.1f}",
            f"{figures['seconds']:.1f}",
            results.spread(figures["seconds_a_notebook"]),
            f"{graders[STOCK]['seconds'] / figures['seconds']:.1f}",
            f"at least {goals[name]:g}" if name in goals else "",
        )
    return table


def run_logged(
    command: list[str], folder: Path, log: Path, look: Callable[[psutil.Process], None] = lambda _: None
) -> float:
    """Run a command in a folder, and return its seconds; `look` sees its process four times a second.

    Raises SystemExit, with the last words of its log, where it fails.
    """
    with open(log, "w", encoding="utf-8") as log_file:
        started = time.perf_counter()
        process = psutil.Popen(command, cwd=folder, stdout=log_file, stderr=log_file, env=environment())
        while True:
            try:
                status = process.wait(BETWEEN_LOOKS)
                break
            except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
                with suppress(psutil.Error):  # it has just ended
                    look(process)
        seconds = time.perf_counter() - started
    if status != 0:
        words = log.read_text(errors="replace")[-LAST_WORDS:]
        raise SystemExit(f"`{' '.join(command)}` ended with {status}. Its last words:\n{words}")
    return seconds


def _run(
    command: list[str], lesson: Assignment, students: Sequence[str], log: Path
) -> tuple[float, list[float]]:
    """The seconds that a command took, and after how many each notebook was done.

    Raises SystemExit where it leaves someone out, and as `run_logged` does.
    """
    started = time.time()
    seconds = run_logged(command, lesson.course.root, log)
    notebooks = [graded_notebook(lesson, student) for student in students]
    if missing := sum(not notebook.is_file() for notebook in notebooks):
        raise SystemExit(f"`{' '.join(command)}` left {missing} of {len(students)} ungraded: see {log}.")
    return seconds, sorted(notebook.stat().st_mtime - started for notebook in notebooks)


def environment() -> dict[str, str]:
    """One thread each, and nbgrader's helpers found by their names, which lie beside the interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
