"""What runs on a worker of a cluster: whether it can grade, and how it does.

Each notebook is handed to a process of the worker's own. Dask's threads cannot be ended; a process
can, as soon as its notebook is not wanted any more, and all that it started goes with it. The worker
itself needs no torch, and neither does the scheduler: both see bytes.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection

import nbjudge
from nbjudge.batch.workers import GradingProcess
from nbjudge.sandbox.bubblewrap import refusal


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


def grade_notebook(request: bytes) -> tuple[str, bytes]:
    """Have a process of this worker's answer a request; returns the worker's address and the answer."""
    from distributed import get_worker

    address: str = get_worker().address
    try:
        process = _idle.pop()
    except IndexError:
        process = GradingProcess(_Program)
    try:
        content = process.call(request, _is_wanted)
    except BaseException:
        process.end()
        raise
    if content:
        _idle.append(process)
    else:
        process.end()
    return address, content


class _Program(subprocess.Popen[bytes]):
    """A grading process. Dask's workers are not allowed to start one of multiprocessing's."""

    def __init__(self, wire: Connection) -> None:
        super().__init__(
            [sys.executable, "-P", "-m", "nbjudge.batch.worker_process", str(wire.fileno())],
            stdin=subprocess.DEVNULL,
            cwd="/",  # it needs no folder, and the worker's may be taken away
            pass_fds=[wire.fileno()],
            # Sums must come out the same on every worker.
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def join(self, seconds: float | None = None) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(seconds)


_idle: list[GradingProcess] = []


def _is_wanted() -> bool:
    """Whether a client still waits for the task of this thread: the scheduler tells the worker."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state != "cancelled"
