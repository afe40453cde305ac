"""Processes that do the work: on one machine one for each core, or those of a cluster's workers."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from queue import Empty, LifoQueue
from typing import TYPE_CHECKING, Any

import psutil

from nbjudge.batch import GradingFailedError
from nbjudge.course.loading import imported_modules
from nbjudge.errors import CourseError, WorkerDiedError
from nbjudge.sandbox.fork_server_client import ForkServer
from nbjudge.settings import GradingSettings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from traitlets.config import Config

    from nbjudge.batch.worker_process import AssignmentArchive
    from nbjudge.course.course import AssignmentSummary, Course
    from nbjudge.grading.job import GradingJob, GradingResult

MEMORY_OF_A_WORKER = 2**30  # bytes, roughly, with its fork server and a notebook
MAX_TRIES = 3  # of a notebook whose grading process dies
POLL_SECONDS = 0.5  # seconds between looks whether a notebook is still wanted
END_SECONDS = 5  # seconds that a process has to end
_processes = multiprocessing.get_context("forkserver")


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


class JobCancelledError(Exception):
    """The process that asked for this notebook has gone, or was interrupted."""


class GradingProcess:
    """A process that grades one notebook after the other, and ends when this one does."""

    def __init__(self, start: Callable[[Connection], Any]) -> None:
        """Have `start` start it; it answers through its end of the pipe (`worker_process.serve`)."""
        self._wire, child_end = multiprocessing.Pipe()
        with child_end:
            self._process = start(child_end)

    def call(self, request: bytes, is_wanted: Callable[[], bool]) -> bytes:
        """Return the answer to a pickled function with its arguments; empty if the process died.

        Raises JobCancelledError as soon as it is not wanted any more.
        """
        try:
            self._wire.send_bytes(request)
            while not self._wire.poll(POLL_SECONDS):
                if not is_wanted():
                    raise JobCancelledError
            return self._wire.recv_bytes()
        except (EOFError, OSError):
            return b""

    def end(self) -> None:
        """Let it clean up behind itself, and kill it if it does not."""
        self._process.terminate()
        self._process.join(END_SECONDS)
        self._process.kill()
        self._process.join()
        self._wire.close()


class LocalWorkers:
    """Processes on this machine. One that dies is replaced, and its notebook graded again."""

    def __init__(
        self, archive: AssignmentArchive, count: int, log: Path, fork_server: ForkServer | None
    ) -> None:
        preload_workers()
        self._archive, self._count, self._setup = archive, count, (log, fork_server and fork_server.client())
        self._idle: LifoQueue[GradingProcess | None] = LifoQueue()  # None is one that is not started yet
        for _ in range(count):
            self._idle.put(None)
        self._stopped = False

    def capacity(self) -> int:
        """Return how many jobs are worth handing over at a time."""
        return self._count + 1  # the next one is ready when a process is done

    def obstacle(self) -> str:
        """Return what has to happen before anything is done: on this machine nothing."""
        return ""

    def summarize(self, name: str) -> AssignmentSummary | None:
        """The summary of an assignment's notebook, by a worker, which loads its checks in any case."""
        from nbjudge.batch.worker_process import summarize

        summary: AssignmentSummary | None = None
        with suppress(WorkerDiedError, GradingFailedError):  # the first job says what is wrong
            summary = self._call(summarize, name)
        return summary

    def run(self, job: GradingJob) -> GradingResult:
        """Do one job; several threads may ask at a time.

        Raises WorkerDiedError where it takes its process along again and again.
        """
        from nbjudge.batch.worker_process import work

        result: GradingResult = self._call(work, job)
        return result

    def stop(self) -> None:
        """Give up whatever is in work, and end."""
        self._stopped = True
        self.close()

    def close(self) -> None:
        """End, when nothing is in work."""
        with suppress(Empty):
            while True:
                process = self._idle.get_nowait()
                if process is not None:
                    process.end()

    def _call(self, function: Callable[..., Any], argument: Any) -> Any:
        """Call a function of `worker_process` with the archive and another argument."""
        request = pickle.dumps((function, self._archive, argument))
        for _ in range(MAX_TRIES):
            process = self._wait_for_process()
            try:
                content = process.call(request, lambda: not self._stopped)
            except BaseException:
                process.end()
                raise
            if content:
                self._idle.put(process)
                return result_of(content)
            process.end()
            self._idle.put(None)
        raise WorkerDiedError

    def _wait_for_process(self) -> GradingProcess:
        while not self._stopped:
            with suppress(Empty):
                return self._idle.get(timeout=POLL_SECONDS) or GradingProcess(self._start)
        raise JobCancelledError

    def _start(self, wire: Connection) -> Any:
        from nbjudge.batch.worker_process import serve_local

        process = _processes.Process(target=serve_local, args=(wire, *self._setup), daemon=True)
        process.start()
        return process


def result_of(content: bytes) -> Any:
    """Return the result of a call that a process has answered. Raises the error that it answered with."""
    result = pickle.loads(content)
    if isinstance(result, Exception):
        raise result
    return result
