"""A kernel and its reader as processes: in the sandbox, or without one as the person who grades."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from base64 import b64encode
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import KernelManager

from nbjudge.authoring.limits import Limits
from nbjudge.sandbox import inside
from nbjudge.sandbox.channel import WallClockDeadline, Wire, WireBroken
from nbjudge.sandbox.fork_server import current_fork_server
from nbjudge.sandbox.forked_kernel import SandboxError
from nbjudge.sandbox.inside import frames

READER = "import sys; sys.path[0] = {folder!r}; from inside.relay import main; main()"
NO_KERNEL = (
    "There is no kernel {name!r} on this machine: install it, or have Python's run these notebooks "
    "(c.RunAndJudge.kernel_names = {setting} in nbgrader_config.py)."
)
OTHER_LANGUAGE = (
    "The kernel {name!r} runs {language}: leave the sandbox out for this assignment if you trust its code "
    "(--RunAndJudge.sandbox=False), because the sandbox grades Python notebooks only."
)


@dataclass(frozen=True)
class KernelEnvironment:
    """Where a notebook's kernel runs: which kernel, within what, and what it finds imported."""

    kernel_name: str = "python3"
    limits: Limits = Limits()
    sandbox: bool = True
    modules: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()  # modules of the course's own that it can import


class KernelProcess(Protocol):
    """A running kernel, and the wire to its reader."""

    wire: Wire
    report: str  # why the sandbox ended it, if it did

    @property
    def pid(self) -> int | None: ...

    def is_alive(self) -> bool: ...

    def send_signal(self, number: int) -> None: ...

    def close(self) -> None:
        """End the kernel, all that it started, and its reader."""


def start(folder: Path, environment: KernelEnvironment) -> KernelProcess:
    """A kernel that is ready, in `folder` or in the sandbox with a copy of its files.

    Raises SandboxError where none can be had.
    """
    kernel: KernelProcess
    name = environment.kernel_name
    if environment.sandbox:
        refuse_other_languages(name)
        warm = current_fork_server(environment.modules, environment.helpers)
        kernel = warm.fork(asdict(environment.limits), _content(folder), patience=environment.limits.startup)
    else:
        kernel = OwnKernel(folder, name if language_of(name) else "python3")
    try:
        clock = WallClockDeadline(environment.limits.startup)
        kernel.wire.send({"do": "connect"}, clock)
        ready = kernel.wire.receive(clock)
    except (WireBroken, TimeoutError) as error:
        kernel.close()
        raise SandboxError("The kernel died before it was ready.") from error
    if ready is None:
        kernel.close()
        raise SandboxError("The kernel was not ready in time.")
    return kernel


class OwnKernel:
    """A kernel without a sandbox: an ordinary process of the person who grades."""

    report = ""

    def __init__(self, folder: Path, kernel_name: str) -> None:
        # Sockets in a private folder, rather than ports that every user of the machine can reach.
        self._sockets = TemporaryDirectory(prefix="nbjudge-")
        place = Path(self._sockets.name)
        self._manager = KernelManager(
            kernel_name=kernel_name,
            transport="ipc",
            ip=str(place / "kernel"),
            connection_file=str(place / "kernel.json"),
        )
        # As stock nbgrader does: other languages' kernels do not know this option.
        is_python = language_of(kernel_name).lower() == "python"
        history = ["--HistoryManager.hist_file=:memory:"] if is_python else []
        unheard = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._manager.start_kernel(cwd=str(folder), extra_arguments=history, **unheard)
        ours, theirs = socket.socketpair()
        code = READER.format(folder=str(Path(inside.__file__).parents[1]))
        with theirs:
            command = [sys.executable, "-B", "-c", code, str(theirs.fileno())]
            self._reader = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        frames.send(ours, json.loads((place / "kernel.json").read_text()))
        self.wire = Wire(ours, self.is_alive)

    @property
    def pid(self) -> int | None:
        process: Any = self._manager.provisioner
        return None if process is None else process.pid

    def is_alive(self) -> bool:
        return bool(self._manager.is_alive())

    def send_signal(self, number: int) -> None:
        with suppress(OSError, RuntimeError):
            if number == signal.SIGINT:
                self._manager.interrupt_kernel()
            else:
                self._manager.signal_kernel(number)

    def close(self) -> None:
        self.wire.close()
        self._reader.kill()
        self._reader.wait()
        self._manager.shutdown_kernel(now=True)
        self._sockets.cleanup()


def refuse_other_languages(kernel_name: str) -> None:
    """Raises SandboxError for a kernel that is not installed, or that is not Python's."""
    language = language_of(kernel_name)
    if language.lower() not in ("", "python"):
        raise SandboxError(OTHER_LANGUAGE.format(name=kernel_name, language=language))


def language_of(kernel_name: str) -> str:
    """The language of an installed kernel; empty for a Python kernel by a name that is not installed.

    Raises SandboxError for any other kernel that is not installed.
    """
    try:
        return str(KernelSpecManager().get_kernel_spec(kernel_name).language)
    except NoSuchKernel as error:
        if kernel_name.lower().startswith("python"):  # as old notebooks call it, and other machines theirs
            return ""
        raise SandboxError(NO_KERNEL.format(name=kernel_name, setting={kernel_name: "python3"})) from error


def _content(folder: Path) -> dict[str, str]:
    """A work folder's files, to be written into the kernel's private one."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file()) if folder.is_dir() else ()
    return {os.fspath(path.relative_to(folder)): b64encode(path.read_bytes()).decode() for path in files}
