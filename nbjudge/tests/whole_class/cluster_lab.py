"""A Dask scheduler and workers on one machine; a worker sees an empty disk where the course is."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from tiny_course import FOLDER

PROGRAMS = str(Path(sys.executable).parent)
PATIENCE = 240  # seconds, for a machine under load
# Where the course is for everybody else, there is an empty disk, with the worker's home on it.
ON_A_DISK_OF_ITS_OWN = (
    'mount -t tmpfs none "$0" && mkdir "$0/home" && cd "$0/home" && PATH="$FOUND_ON" exec "$@"'
)


def wait_until(happened: Callable[[], object], what: str) -> None:
    """Wait for something to happen; that it takes long is no failure."""
    ends = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < ends, f"{what}: not after {PATIENCE} s"
        time.sleep(0.3)  # what is waited for is often looked for among all processes, which takes a while


@dataclass
class Program:
    """Something that runs, with its output in a file."""

    process: subprocess.Popen[bytes]
    words: Path

    @property
    def output(self) -> str:
        return self.words.read_text(errors="replace")

    def tell_all(self, number: int) -> None:
        """Signal it and all that it started in its group: the whole machine, so to speak."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def finish(self) -> tuple[int, str]:
        return self.process.wait(PATIENCE), self.output


@dataclass
class Lab:
    """A scheduler, and the programs that were started beside it."""

    folder: Path
    scheduler: str
    programs: list[Program] = field(default_factory=list)

    def start(self, *command: str, cwd: Path | None = None, **environment: str) -> Program:
        words = self.folder / f"{time.monotonic_ns()}.txt"
        settings = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        with words.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | settings | environment,
                start_new_session=True,
            )
        self.programs.append(Program(process, words))
        return self.programs[-1]

    def start_worker(self, name: str, hidden: Path, threads: int = 1, path: str | None = None) -> Program:
        """A Dask worker that sees nothing of the folder `hidden`; on `path` its programs are found."""
        worker = (f"{PROGRAMS}/dask", "worker", self.scheduler, "--name", name, "--nthreads", str(threads))
        own = f"{hidden}/home"
        settings = {"HOME": own, "TMPDIR": own, "FOUND_ON": path or f"{PROGRAMS}:{os.environ['PATH']}"}
        shell = ("unshare", "--mount", "/bin/sh", "-c", ON_A_DISK_OF_ITS_OWN, str(hidden))
        return self.start(*shell, *worker, **settings)

    def grade(self, course: Path, *options: str) -> Program:
        command = (f"{PROGRAMS}/nbjudge", "grade", FOLDER, "--scheduler", self.scheduler, *options)
        return self.start(*command, cwd=course)

    def who_graded(self) -> Counter[str]:
        """How many notebooks each worker has graded."""
        record = self.folder / "record"
        return Counter(record.read_text().split() if record.exists() else [])


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """A running scheduler; all that runs beside it ends with it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = Lab(folder, f"tcp://127.0.0.1:{port}")
    command = (f"{PROGRAMS}/dask", "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    preload = ("--preload", str(Path(__file__).with_name("cluster_record.py")))
    try:
        started.start(*command, *preload, cwd=folder, WHO_GRADED=str(folder / "record"))
        yield started
    finally:
        for program in started.programs:
            program.tell_all(signal.SIGKILL)
            program.process.wait()


def skip_without_mounts() -> None:
    """Skip where no worker can have a disk of its own; in CI it must."""
    can = os.geteuid() == 0 and shutil.which("unshare") is not None
    if not can or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        assert not os.environ.get("CI"), "a mount namespace cannot be made"
        pytest.skip("mount namespaces are root's to make, with `unshare`")


def sandboxes_below(folder: Path) -> list[psutil.Process]:
    """Sandboxes whose sockets lie below a folder."""
    found = [
        each for each in psutil.process_iter(["name", "cmdline"]) if "bwrap" in (each.info["name"] or "")
    ]
    return [process for process in found if str(folder) in " ".join(process.info["cmdline"] or [])]


def running(*command: str) -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if process.info["cmdline"] == list(command)]
