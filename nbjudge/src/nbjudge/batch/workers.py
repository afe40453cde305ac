"""Who does the work on one machine: processes of its own, one for each core."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import psutil

from nbjudge.course.loading import imported_modules
from nbjudge.errors import CourseError, WorkerDiedError
from nbjudge.sandbox.fork_server_client import ForkServer
from nbjudge.settings import GradingSettings

if TYPE_CHECKING:
    from traitlets.config import Config

    from nbjudge.batch.worker_process import AssignmentArchive
    from nbjudge.course.course import AssignmentSummary, Course
    from nbjudge.grading.job import GradingJob, GradingResult

MEMORY_OF_A_WORKER = 2**30  # bytes, roughly, with its fork server and a notebook
MAX_TRIES = 3  # of a notebook whose grading process dies; but for the first it is alone
END_SECONDS = 5  # seconds that a process has to end
_processes = multiprocessing.get_context("forkserver")


class Workers(Protocol):
    """Processes that grade notebooks: on this machine, or of a cluster."""

    def capacity(self) -> int:
        """How many jobs are worth handing over at a time."""

    def obstacle(self) -> str:
        """What has to happen before anything is done; nothing, as a rule."""

    def run(self, job: GradingJob) -> GradingResult:
        """Do one job. Blocks; several threads may ask at a time."""

    def stop(self) -> None:
        """Give up whatever is in work, and end."""

    def close(self) -> None:
        """End, when nothing is in work."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_worker_count(jobs: int) -> int:
    """As many as there are cores, notebooks and memory for."""
    return int(max(1, min(cores(), jobs, psutil.virtual_memory().available // MEMORY_OF_A_WORKER)))


def preload_workers(checks: Iterable[Path] = ()) -> None:
    """Let what workers need be imported, once for all of them, while the class is being looked at.

    That is the grader, and what an assignment's files and folders of checks import.
    """
    # Sums must come out the same in every worker, and threads would not survive a fork.
    os.environ["OMP_NUM_THREADS"] = "1"
    files = {file for path in checks for file in (path, *path.rglob("*.py")) if file.is_file()}
    text = "\n".join(file.read_text(errors="replace") for file in files)
    named = sorted(name for name in imported_modules(text) if not name.startswith("."))
    _processes.set_forkserver_preload(
        ["nbjudge.batch.before_imports", "nbjudge.batch.worker_process", *named]
    )
    forkserver.ensure_running()


def start_fork_server(course: Course, assignment: str, config: Config) -> ForkServer | None:
    """Start the fork server of all workers; None without a sandbox, which grading itself then reports.

    It imports what the assignment's notebooks import, for longer than anything else takes, so that it starts
    before nbgrader is imported.
    """
    settings = GradingSettings(config=config)
    if not settings.sandbox:
        return None
    first, *_ = course.assignments_in(assignment)
    try:
        return ForkServer((*first.modules, *settings.modules), tuple(settings.exposed_modules))
    except CourseError:
        return None


class LocalWorkers:
    """Processes on this machine. One that dies is replaced, and its notebook graded again."""

    def __init__(
        self, archive: AssignmentArchive, count: int, log: Path, fork_server: ForkServer | None
    ) -> None:
        preload_workers()
        self._archive, self._count, self._setup = archive, count, (log, fork_server and fork_server.client())
        self._others = set(multiprocessing.active_children())
        self._replacing, self._alone = threading.Lock(), threading.Lock()
        self._stopped = False
        self._pool = self._new_pool()

    def capacity(self) -> int:
        return self._count + 1  # the next one is ready when a process is done

    def obstacle(self) -> str:
        return ""

    def summarize(self, name: str) -> AssignmentSummary | None:
        """The summary of an assignment's notebook, by a worker, which loads its checks in any case."""
        from nbjudge.batch.worker_process import summarize

        try:
            return self._pool.submit(summarize, self._archive, name).result()
        except BrokenProcessPool:  # the first job makes a new one, and says what is wrong
            return None

    def run(self, job: GradingJob) -> GradingResult:
        """Do one job. Raises WorkerDiedError where it takes its process along again and again."""
        from nbjudge.batch.worker_process import work

        pool = self._pool
        try:
            return pool.submit(work, self._archive, job).result()
        except BrokenProcessPool:
            with self._replacing:
                if self._pool is pool and not self._stopped:
                    self._pool = self._new_pool()
        # Any of the notebooks that were in work may have ended the pool: each is tried by itself.
        for _ in range(MAX_TRIES - 1):
            with self._alone, suppress(BrokenProcessPool):
                if self._stopped:
                    break
                with self._new_pool(1) as alone:
                    return alone.submit(work, self._archive, job).result()
        raise WorkerDiedError

    def stop(self) -> None:
        self._stopped = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        processes = set(multiprocessing.active_children()) - self._others
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(END_SECONDS)
            process.kill()

    def close(self) -> None:
        self._pool.shutdown()

    def _new_pool(self, count: int = 0) -> ProcessPoolExecutor:
        from nbjudge.batch.worker_process import initialize_worker

        return ProcessPoolExecutor(count or self._count, _processes, initialize_worker, self._setup)
