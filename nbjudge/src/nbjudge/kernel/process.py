"""Start a kernel and its relay as processes: in the sandbox, or without it as the user who grades."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import KernelManager

from nbjudge.errors import SandboxError
from nbjudge.framing import to_frame
from nbjudge.kernel.channel import Channel, ChannelError, KernelProcess
from nbjudge.kernel.timing import Deadline
from nbjudge.sandbox.fork_server_client import current_fork_server
from nbjudge.sandbox.inside.messages import Connect, KernelReady
from nbjudge.settings import Limits

RELAY = "from nbjudge.sandbox.inside.relay import main; main()"
NO_KERNEL = (
    "There is no kernel {name!r} on this machine: install it, or if its notebooks are Python, have "
    "Python's kernel run them (c.RunAndJudge.kernel_names = {setting} in nbgrader_config.py)."
)
OTHER_LANGUAGE = (
    "The kernel {name!r} runs {language}: leave the sandbox out for this assignment if you trust its code "
    "(--RunAndJudge.sandbox=False), because the sandbox grades Python notebooks only."
)


@dataclass(frozen=True)
class KernelEnvironment:
    """Where a notebook's kernel runs: which kernel, within which limits, and which modules are imported."""

    kernel_name: str = "python3"
    limits: Limits = Limits()
    sandbox: bool = True
    modules: tuple[str, ...] = ()
    exposed_modules: tuple[str, ...] = ()  # modules of the course that it can import


def start_process(folder: Path, environment: KernelEnvironment) -> KernelProcess:
    """Start a kernel and wait until it is ready.

    Parameters
    ----------
    folder
        The working folder; a kernel in the sandbox gets a copy of its files.
    environment
        Which kernel, and within which limits.

    Returns
    -------
    KernelProcess
        The kernel, which has replied to a first request.

    Raises
    ------
    SandboxError
        If no kernel can be started, or it is not ready in time.
    """
    kernel: KernelProcess
    name = environment.kernel_name
    if environment.sandbox:
        refuse_other_languages(name)
        server = current_fork_server(environment.modules, environment.exposed_modules)
        kernel = server.fork(environment.limits, _content(folder))
    else:
        kernel = UnsandboxedKernel(folder, name if language_of(name) else "python3")
    try:
        deadline, channel = Deadline(environment.limits.startup), Channel(kernel)
        channel.send(Connect(), deadline)
        ready = channel.receive(KernelReady, deadline)
    except (ChannelError, TimeoutError) as error:
        kernel.close()
        raise SandboxError("The kernel died before it was ready.") from error
    if ready is None:
        kernel.close()
        raise SandboxError("The kernel was not ready in time.")
    return kernel


class UnsandboxedKernel:
    """A kernel without a sandbox: an ordinary process of the user who grades.

    Parameters
    ----------
    folder
        The working folder.
    kernel_name
        An installed kernel.
    """

    end_reason = ""

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
        # Kernels of other languages do not know this option.
        is_python = language_of(kernel_name).lower() == "python"
        history = ["--HistoryManager.hist_file=:memory:"] if is_python else []
        no_output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._manager.start_kernel(cwd=str(folder), extra_arguments=history, **no_output)
        self.relay, relay_end = socket.socketpair()
        with relay_end:
            command = [sys.executable, "-B", "-P", "-c", RELAY, str(relay_end.fileno())]
            self._relay_process = subprocess.Popen(
                command, pass_fds=[relay_end.fileno()], stdin=subprocess.DEVNULL
            )
        self.relay.sendall(to_frame((place / "kernel.json").read_bytes()))

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
        self.relay.close()
        self._relay_process.kill()
        self._relay_process.wait()
        self._manager.shutdown_kernel(now=True)
        self._sockets.cleanup()


def refuse_other_languages(kernel_name: str) -> None:
    """Raises SandboxError for a kernel that is not installed, or that is not Python's."""
    language = language_of(kernel_name)
    if language.lower() not in ("", "python"):
        raise SandboxError(OTHER_LANGUAGE.format(name=kernel_name, language=language))


@cache
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


def _content(folder: Path) -> dict[bytes, bytes]:
    """A work folder's files, to be written into the kernel's private one."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file()) if folder.is_dir() else ()
    return {os.fsencode(path.relative_to(folder)): path.read_bytes() for path in files}
