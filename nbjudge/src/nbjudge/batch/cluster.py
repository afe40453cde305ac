"""Grade on a cluster: the workers of a running `dask.distributed` scheduler, and what runs on them.

They need this package and bubblewrap, and no disk of the course's: notebooks and checks come as data. A
worker hands each notebook to a process of its own. Dask's threads cannot be ended; a process can, as soon as
its notebook is not wanted any more, and all that it started goes with it. The worker itself needs no torch,
and neither does the scheduler: both see bytes.
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import platform
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from typing import Any

from distributed import Client, KilledWorker, get_worker
from distributed import TimeoutError as NotYet
from distributed.comm.addressing import get_address_host_port

import nbjudge
from nbjudge.batch import GradingFailedError
from nbjudge.batch.worker_process import AssignmentArchive, work
from nbjudge.batch.workers import MAX_TRIES, GradingProcess, result_of
from nbjudge.errors import CourseError, GradingStoppedError, NoKernelError, WorkerDiedError
from nbjudge.grading.job import GradingJob, GradingResult
from nbjudge.sandbox.bubblewrap import sandbox_refusal

POLL_SECONDS = 1  # seconds
PATIENCE_WITH_REFUSED = 15  # seconds in which one that can grade may join, or come back
NEEDED = "It needs nbjudge[cluster], in the same version as here."
NO_WORKER_YET = "waiting for a worker to join the scheduler"
NO_USABLE_WORKER = "waiting for a worker that can grade"
PATIENCE_WITH_THE_SCHEDULER = 10  # seconds


@dataclass
class Member:
    """A worker, and whether it can grade."""

    name: str
    threads: int
    reply: Any  # the future of `unsuitable_reason` on it
    reason: str | None = None  # why it cannot; empty if it can, None as long as it has not answered


class Members:
    """The workers of a scheduler. Those that cannot grade are refused, by name and with the reason."""

    def __init__(self, client: Client, sandbox: bool, tell: Callable[[str], None]) -> None:
        self._client, self._sandbox, self._tell = client, sandbox, tell
        self._members: dict[str, Member] = {}  # by address
        self._looking = threading.RLock()
        self._looked, self._hopeful = -math.inf, time.monotonic()

    def good(self) -> dict[str, Member]:
        """Those that can grade, by address. Looks again who is there, if that was a while ago.

        Raises CourseError where the scheduler is gone, or only refused workers have been there
        for a while.
        """
        with self._looking:
            if time.monotonic() - self._looked >= POLL_SECONDS:
                self._look()
                self._looked = time.monotonic()
            return {address: member for address, member in self._members.items() if member.reason == ""}

    def obstacle(self) -> str:
        members = list(self._members.values())
        if any(member.reason == "" for member in members):
            return ""
        return NO_USABLE_WORKER if members else NO_WORKER_YET

    def refuse(self, address: str, reason: str) -> None:
        """No more of this one."""
        with self._looking:
            if address in self._members:
                member = self._members[address]
                member.reason = reason
                self._tell(f"The worker {member.name} ({address}) is refused. {reason}")

    def name(self, address: str) -> str:
        return self._members[address].name if address in self._members else address

    def _look(self) -> None:
        present = self._present()
        for address in set(self._members) - set(present):
            del self._members[address]
        for address, about in present.items():
            if address not in self._members:
                reply = self._client.submit(
                    unsuitable_reason, versions(), self._sandbox, workers=[address], pure=False
                )
                self._members[address] = Member(str(about["name"]), about["nthreads"], reply)
            elif self._members[address].reason is None:
                self._hear(address)
        self._give_up_in_the_end()

    def _present(self) -> dict[str, Any]:
        known: Any = {}  # nothing, as long as the client tries to reach the scheduler again
        with suppress(OSError, RuntimeError):
            known = self._client.scheduler_info(n_workers=-1)
        if self._client.status not in ("running", "connecting"):
            raise CourseError(
                "The scheduler is gone: start it again, and run the same command again. What was graded "
                "before is kept."
            )
        workers: dict[str, Any] = known.get("workers", {})
        return workers

    def _hear(self, address: str) -> None:
        member = self._members[address]
        if not member.reply.done():
            return
        if member.reply.status == "cancelled":  # the scheduler was away for a moment
            del self._members[address]
            return
        error = member.reply.exception()
        if error is not None:
            message = " ".join(f"{type(error).__name__}: {error}".split())
            self.refuse(address, f"It could not be asked ({message}). {NEEDED}")
        elif member.reply.result():
            self.refuse(address, member.reply.result())
        else:
            member.reason = ""

    def _give_up_in_the_end(self) -> None:
        refused = [member for member in self._members.values() if member.reason]
        if not refused or len(refused) < len(self._members):
            self._hopeful = time.monotonic()
        elif time.monotonic() - self._hopeful > PATIENCE_WITH_REFUSED:
            only = "The only worker" if len(refused) == 1 else f"None of the {len(refused)} workers"
            can = "cannot grade" if len(refused) == 1 else "can grade"
            raise CourseError(
                f"{only} of the scheduler {can}. {refused[0].name} was refused: {refused[0].reason}"
            )


class ClusterWorkers:
    """The workers of a scheduler, including those that join during the run."""

    def __init__(
        self, archive: AssignmentArchive, address: str, sandbox: bool, tell: Callable[[str], None]
    ) -> None:
        # What goes wrong with the scheduler is said here, in a sentence.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        try:
            _wait_for_a_listener(address)
            self._client = Client(address, timeout=PATIENCE_WITH_THE_SCHEDULER, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise CourseError(
                f"No Dask scheduler answers at {address} ({error}): start one with `dask scheduler`, "
                "and give the address that it prints."
            ) from error
        self._archive, self._stopped = archive, False
        self._members = Members(self._client, sandbox, tell)

    def capacity(self) -> int:
        """One for each thread, and one more for each worker, so that none waits for its next notebook."""
        return sum(member.threads + 1 for member in self._members.good().values())

    def obstacle(self) -> str:
        return self._members.obstacle()

    def run(self, job: GradingJob) -> GradingResult:
        """Do one job. Raises WorkerDiedError where it takes workers along again and again, GradingFailedError
        where a worker says what went wrong, GradingStoppedError if no worker can do any.
        """
        request, died_on = pickle.dumps((work, self._archive, job)), list[str]()
        while len(died_on) < MAX_TRIES:
            address, content = self._grade_on_a_worker(request, set(died_on))
            if not content:
                died_on.append(address)
                continue
            try:
                result: GradingResult = result_of(content)
                return result
            except NoKernelError as error:
                self._members.refuse(address, str(error))
            except GradingFailedError as error:
                raise GradingFailedError(f"{error} (on the worker {self._members.name(address)})") from None
        names = ", ".join(self._members.name(address) for address in died_on)
        raise WorkerDiedError(f"{WorkerDiedError.sentence} It was tried on {names}.")

    def stop(self) -> None:
        """Leave the scheduler. It drops what this client asked for, and workers end what is in work."""
        self._stopped = True
        self._client.close()

    def close(self) -> None:
        self._client.close()

    def _grade_on_a_worker(self, request: bytes, rather_not: set[str]) -> tuple[str, bytes]:
        """Run `grade_notebook` on a worker; on the others, if those that it may run on have gone."""
        while True:
            good = self._good()
            if not good:
                time.sleep(POLL_SECONDS)
                continue
            allowed = good - rather_not or good
            task: Any = self._client.submit(grade_notebook, request, workers=sorted(allowed), pure=False)
            try:
                while allowed & self._good():
                    with suppress(NotYet):
                        result: tuple[str, bytes] = task.result(timeout=POLL_SECONDS)
                        return result
            except CancelledError:  # the scheduler was away for a moment, or this run was stopped
                pass
            except KilledWorker as error:
                return error.last_worker.address, b""
            task.cancel()

    def _good(self) -> set[str]:
        if self._stopped:
            raise CancelledError
        try:
            return set(self._members.good())
        except CourseError as error:
            # Not this notebook's fault: no other notebook can be graded either.
            raise GradingStoppedError(str(error)) from error


def _wait_for_a_listener(address: str) -> None:
    """Checked before a client is made: a client that reaches no scheduler hangs again when it is closed.

    Raises ValueError for what is no address, OSError where nothing listens there.
    """
    host, port = get_address_host_port(address, strict=True)
    deadline = time.monotonic() + PATIENCE_WITH_THE_SCHEDULER
    while True:
        try:
            socket.create_connection((host, port), timeout=PATIENCE_WITH_THE_SCHEDULER).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def versions() -> dict[str, str]:
    """Return what must be the same everywhere, for the same grades."""
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
    return (sandbox_refusal() if sandbox else None) or ""


def grade_notebook(request: bytes) -> tuple[str, bytes]:
    """Have a process of this worker's answer a request; returns the worker's address and the answer."""
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
    """Return whether a client still waits for the task of this thread: the scheduler tells the worker."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state != "cancelled"
