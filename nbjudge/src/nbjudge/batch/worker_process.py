"""The worker's end: an archived assignment and a job come in, a graded notebook goes back.

The archive holds what a worker needs of the course, and nothing else of it. The key that makes the inputs
unpredictable, the gradebook and the other submissions stay behind.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pickle
import resource
import signal
import sys
import threading
import traceback
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from types import FrameType

from nbjudge.batch import GradingFailedError
from nbjudge.course.course import Assignment, AssignmentSummary, Course
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import GradingImpossibleError, is_out_of_memory
from nbjudge.grading.job import GradingJob, GradingResult, run_job
from nbjudge.sandbox.fork_server_client import ForkServerClient, close_fork_server, use_fork_server
from nbjudge.sandbox.inside.limits import limit_memory
from nbjudge.submission.files import CACHE_FOLDERS

SETTINGS = "nbgrader_config.json"  # what the worker's `Course` reads
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same files make the same archive


@dataclass(frozen=True)
class AssignmentArchive:
    """A zip of an assignment's notebooks, solutions, given files and checks, and of a setting of the course.

    Inside, the folders have nbgrader's default names, whatever they are called in the course.
    """

    folder: str
    content: bytes


def pack_assignment(course: Course, folder: str) -> AssignmentArchive:
    """Pack the assignment `folder` (`ps1`) of a course."""
    there, inside = course.folders, CourseFolders(Path())
    tops = {there.source / folder: inside.source / folder, there.solution / folder: inside.solution / folder}
    for assignment in course.assignments_in(folder):
        for each in (assignment, *assignment.lenders):
            tops[there.source / each.folder] = inside.source / each.folder
            for file in each.checks_files:
                tops[file] = inside.checks / file.name
    names = {
        name / file.relative_to(top): file
        for top, name in tops.items()
        for file in (top, *top.rglob("*"))
        if file.is_file()
    }
    settings = {"RunAndJudge": {"changed_arguments": course.changed_arguments}}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(SETTINGS, ZIP_EPOCH), json.dumps(settings))
        for name in sorted(names):
            if not CACHE_FOLDERS & set(name.parts):
                archive.writestr(zipfile.ZipInfo(str(name), ZIP_EPOCH), names[name].read_bytes())
    return AssignmentArchive(folder, buffer.getvalue())


def unpacked_assignment(archive: AssignmentArchive, name: str) -> Assignment:
    """The assignment `name` of an archive, unpacked once in this process; a process keeps one archive."""
    if archive not in _unpacked:
        remove_unpacked()
        folder = TemporaryDirectory(prefix="nbjudge-")
        with zipfile.ZipFile(io.BytesIO(archive.content)) as content:
            content.extractall(folder.name)
        root = Path(folder.name)
        _unpacked[archive] = folder, Course(root, CourseFolders(root))
    _, course = _unpacked[archive]
    return next(assignment for assignment in course.assignments_in(archive.folder) if assignment.name == name)


_unpacked: dict[AssignmentArchive, tuple[TemporaryDirectory[str], Course]] = {}


@atexit.register
def remove_unpacked() -> None:
    """Remove what was unpacked."""
    while _unpacked:
        _unpacked.popitem()[1][0].cleanup()


END_SECONDS = 5  # seconds in which a process cleans up
JUDGING = 300  # seconds that judging may take beyond what the notebook may: far more than it ever does
MEMORY = 2 * 2**30  # bytes that it may take beyond what the process holds before, likewise
_one_at_a_time = threading.Lock()  # a process has one fork server


def work(archive: AssignmentArchive, job: GradingJob) -> GradingResult:
    """Grade one notebook. Raises NoKernelError where the sandbox gives no kernel to anybody."""
    limits = job.environment.limits
    try:
        with (
            _one_at_a_time,
            _time_limit(limits.startup + limits.notebook + JUDGING),
            _memory_limit(job.environment.sandbox),
        ):
            assignment = unpacked_assignment(archive, job.assignment)
            return run_job(job, assignment.for_student(job.student))
    except BaseException as error:
        if not (isinstance(error, SystemExit) or is_out_of_memory(error)):
            raise
        # Told to end, or of no use: this is no notebook that failed, after which another could follow.
        close_fork_server()
        remove_unpacked()
        os._exit(0)


def summarize(archive: AssignmentArchive, name: str) -> AssignmentSummary | None:
    """Load the checks and reference answers of a notebook; None if its author must fix something."""
    return unpacked_assignment(archive, name).summary()


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Have the system end this process where it takes longer, whatever it is lost in.

    What comes from a kernel is bounded, and so is judging it: this is for cases that were not foreseen.
    """
    if threading.current_thread() is not threading.main_thread():  # such as Dask's own threads
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def _memory_limit(is_wanted: bool) -> Iterator[None]:
    """Let this process hold so much only; without a sandbox kernels are its children, and have no limit."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if is_wanted:
        limit_memory(MEMORY, before[1])
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def serve_local(wire: Connection, log: Path, fork_server: ForkServerClient | None) -> None:
    """Serve as a process of this machine: what is printed goes to the log.

    Kernels are asked of the coordinator's fork server, if there is one.
    """
    gc.freeze()  # what the workers' fork server has imported stays
    gc.enable()
    log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log_file, sys.stdout.fileno())
    os.dup2(log_file, sys.stderr.fileno())
    # A process of multiprocessing's ends without what `atexit` would do.
    for clean_up in (close_fork_server, remove_unpacked):
        Finalize(None, clean_up, exitpriority=1)
    if fork_server is not None:
        use_fork_server(fork_server)
    serve(wire)


def serve(wire: Connection) -> None:
    """Do what is asked for through a pipe, until it is told to end or the process that asks is gone.

    The main thread does it, because the sandbox ends with the thread that started it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    signal.signal(signal.SIGTERM, _end)
    arrived: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(wire, arrived), daemon=True).start()
    while True:
        wire.send_bytes(answer_to(arrived.get()))


def answer_to(request: bytes) -> bytes:
    """Call a pickled function with its arguments.

    Returns, as a pickle, its result, the error of a machine or an assignment that no notebook can be graded
    with, or a sentence that says how this call failed.
    """
    try:
        function, *arguments = pickle.loads(request)
        return pickle.dumps(function(*arguments))
    except GradingImpossibleError as error:
        return pickle.dumps(error)
    except Exception as error:
        traceback.print_exc()  # into the log
        return pickle.dumps(GradingFailedError(f"{type(error).__name__}: {error}"))


def _read(wire: Connection, arrived: SimpleQueue[bytes]) -> None:
    """Take in requests as long as the process lives that sends them."""
    with suppress(EOFError, OSError):
        while True:
            arrived.put(wire.recv_bytes())
    os.kill(os.getpid(), signal.SIGTERM)


def _end(_signal: int, _frame: FrameType | None) -> None:
    """Clean up folders and sandboxes on the way out, and be gone soon whatever happens there."""
    last = threading.Timer(END_SECONDS, os._exit, (1,))
    last.daemon = True
    last.start()
    raise SystemExit


if (
    __name__ == "__main__"
):  # a process of a cluster's worker, `python -m nbjudge.batch.worker_process DESCRIPTOR`
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    serve(Connection(descriptor))
