"""What runs on a worker of a cluster: whether it can grade, and how it does.

Each notebook is handed to a process of the worker's own. Dask's threads cannot be ended; a process
can, as soon as its notebook is not wanted any more, and all that it started goes with it. The worker
itself needs no torch, and neither does the scheduler: both see bytes.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import platform
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import FrameType

import nbjudge
from nbjudge.errors import GradingImpossibleError
from nbjudge.sandbox.bubblewrap import refusal

POLL_SECONDS = 0.5  # seconds between checks whether a notebook is still wanted
END_SECONDS = 5  # seconds that a process has to clean up and end


def versions() -> dict[str, str]:
    """What must be the same everywhere, for the same grades."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "nbjudge": nbjudge.__version__,
        "torch": _version_of("torch").partition("+")[0],  # without the kind of build
    }


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def unsuitable_reason(wanted: dict[str, str], sandbox: bool) -> str:
    """Asked on a worker: why no notebook can be graded there, in a sentence; empty if it can."""
    here = versions()
    for name, number in wanted.items():
        if here[name] != number:
            return f"It has {name} {here[name]}, and this class is graded with {number}: install that there."
    return (refusal() if sandbox else None) or ""


def grade_notebook(work: bytes) -> tuple[str, bytes]:
    """Run on a worker: grade the pickled (archive, job).

    Returns the worker's address and what came of it, as `graded` does; empty if the process died.
    """
    from distributed import get_worker

    address: str = get_worker().address
    try:
        process = _idle.pop()
    except IndexError:
        process = GradingProcess()
    try:
        content = process.grade(work, _is_wanted)
    except BaseException:
        process.end()
        raise
    if content:
        _idle.append(process)
    else:
        process.end()
    return address, content


class JobCancelledError(Exception):
    """The process that asked for this notebook has gone, or was interrupted."""


class GradingProcess:
    """A process that grades one notebook after the other, and ends when its worker does."""

    def __init__(self) -> None:
        self._wire, child_end = multiprocessing.Pipe()
        with child_end:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "nbjudge.batch.cluster_worker", str(child_end.fileno())],
                stdin=subprocess.DEVNULL,
                cwd="/",  # it needs no folder, and the worker's may be taken away
                pass_fds=[child_end.fileno()],
                # Sums must come out the same on every worker.
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )

    def grade(self, work: bytes, is_wanted: Callable[[], bool]) -> bytes:
        """Blocks until the notebook is graded, and returns what came of it; empty if the process died.

        Raises JobCancelledError as soon as no task waits for it.
        """
        try:
            self._wire.send_bytes(work)
            while not self._wire.poll(POLL_SECONDS):
                if not is_wanted():
                    raise JobCancelledError
            return self._wire.recv_bytes()
        except (EOFError, OSError):
            return b""

    def end(self) -> None:
        """Let it clean up behind itself, and kill it if it does not."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self._process.kill()
        self._process.wait()
        self._wire.close()


_idle: list[GradingProcess] = []


def _is_wanted() -> bool:
    """Whether a client still waits for the task of this thread: the scheduler tells the worker."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state != "cancelled"


# The process in which notebooks are graded, `python -m nbjudge.batch.cluster_worker DESCRIPTOR`: they come in
# as pickled (archive, job), and what came of each goes back. It ends with the worker.


def main() -> None:
    """Grade what comes, in the main thread: the sandbox ends with the thread that started it."""
    wire = Connection(int(sys.argv[1]))
    os.set_inheritable(wire.fileno(), False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the worker's to answer
    signal.signal(signal.SIGTERM, _end)
    arrived: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(wire, arrived), daemon=True).start()
    while True:
        wire.send_bytes(graded(arrived.get()))


def graded(content: bytes) -> bytes:
    """Grade a pickled (archive, job).

    Returns, as a pickle, the `GradingResult`, the error of a machine or an assignment that no notebook can be
    graded with, or a sentence that says how this one failed.
    """
    from nbjudge.batch.worker_process import work

    try:
        archive, job = pickle.loads(content)
        return pickle.dumps(work(archive, job))
    except GradingImpossibleError as error:
        return pickle.dumps(error)
    except Exception as error:
        traceback.print_exc()  # into the worker's log
        return pickle.dumps(f"{type(error).__name__}: {error}")


def _read(wire: Connection, arrived: SimpleQueue[bytes]) -> None:
    """Take in notebooks as long as the worker lives."""
    with suppress(EOFError, OSError):
        while True:
            arrived.put(wire.recv_bytes())
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _end(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit  # so that folders and sandboxes are cleaned up on the way out


if __name__ == "__main__":
    main()
