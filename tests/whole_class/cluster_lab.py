"""Separate hosts on one machine: network namespaces on a bridge, and what runs on them.

A worker's host has no disk of the course's: an empty one is where the course is.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

PROGRAMS = str(Path(sys.executable).parent)
PORT = 8786
PATIENCE = 240  # seconds, for a machine under load
# Where the course is for everybody else, this host has an empty disk, with its home on it.
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
    """Something that runs on a host, with its words in a file."""

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
class Host:
    """A network namespace with an address on the bridge."""

    namespace: str
    address: str
    folder: Path  # where the words of its programs are kept
    programs: list[Program] = field(default_factory=list)

    def start(self, *command: str, cwd: Path | None = None, **environment: str) -> Program:
        words = self.folder / f"{self.namespace}-{len(self.programs)}.txt"
        settings = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        with words.open("wb") as log:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *command],
                cwd=cwd,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | settings | environment,
                start_new_session=True,
            )
        self.programs.append(Program(process, words))
        return self.programs[-1]

    def start_worker(
        self, name: str, scheduler: str, hidden: Path, threads: int = 1, path: str | None = None
    ) -> Program:
        """A Dask worker that sees nothing of the folder `hidden`; on `path` its programs are found."""
        worker = (f"{PROGRAMS}/dask", "worker", scheduler, "--name", name, "--nthreads", str(threads))
        own = f"{hidden}/home"
        settings = {"HOME": own, "TMPDIR": own, "FOUND_ON": path or f"{PROGRAMS}:{os.environ['PATH']}"}
        return self.start("/bin/sh", "-c", ON_A_DISK_OF_ITS_OWN, str(hidden), *worker, **settings)


@contextmanager
def network(folder: Path, *hosts: str) -> Iterator[dict[str, Host]]:
    """Hosts that reach each other and no one else; gone afterwards, with all that runs on them."""
    mark = f"lab-{uuid.uuid4().hex[:8]}"
    hosts_by_name: dict[str, Host] = {}
    try:
        _ip("netns", "add", mark)
        _ip("-n", mark, "link", "add", "bridge", "type", "bridge")
        _ip("-n", mark, "link", "set", "bridge", "up")
        for number, name in enumerate(hosts, start=1):
            hosts_by_name[name] = host = Host(f"{mark}-{name}", f"10.77.0.{number}", folder)
            _ip("netns", "add", host.namespace)
            ends = ("type", "veth", "peer", "name", f"host{number}", "netns", mark)
            _ip("link", "add", "wire", "netns", host.namespace, *ends)
            _ip("-n", mark, "link", "set", f"host{number}", "master", "bridge", "up")
            _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "wire")
            _ip("-n", host.namespace, "link", "set", "wire", "up")
            _ip("-n", host.namespace, "link", "set", "lo", "up")
        yield hosts_by_name
    finally:
        for host in hosts_by_name.values():
            for program in host.programs:
                program.tell_all(signal.SIGKILL)
                program.process.wait()
        for namespace in (*(host.namespace for host in hosts_by_name.values()), mark):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)


def skip_without_hosts() -> None:
    """Skip where no separate hosts can be made; in CI they must be."""
    reason = ""
    if os.geteuid() != 0:
        reason = "network namespaces are root's to make"
    elif shutil.which("ip") is None:
        reason = "there is no `ip`: install the package iproute2"
    else:
        try:
            with network(Path("/tmp"), "any"):
                pass
        except subprocess.CalledProcessError as error:
            reason = f"no network namespace can be made here: {error.stderr.strip()}"
    if reason:
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)


def sandboxes_below(folder: Path) -> list[psutil.Process]:
    """Sandboxes whose sockets lie below a folder."""
    return [process for process in psutil.process_iter(["name", "cmdline"]) if _is_sandbox(process, folder)]


def running(*command: str) -> list[psutil.Process]:
    return [
        process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == list(command)
    ]


def _is_sandbox(process: psutil.Process, folder: Path) -> bool:
    line = process.info["cmdline"] or []
    return "bwrap" in (process.info["name"] or "") and any(str(folder) in word for word in line)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
