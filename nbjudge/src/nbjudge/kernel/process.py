"""Starts a kernel and its relay, in the sandbox or as the user who grades, and talks to the relay.

The relay (`sandbox.inside.relay`, without a sandbox `kernel.jupyter_relay`) reads what the kernel sends, in a
process of its own. On the channel each command gets one reply, within a deadline. A message of another form
than `sandbox.inside.messages` declares is an error of the channel.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar

import msgspec

from nbjudge.errors import SandboxError
from nbjudge.framing import FrameBuffer, to_frame
from nbjudge.kernel.timing import Deadline, poll_interval
from nbjudge.sandbox.fork_server_client import current_fork_server
from nbjudge.sandbox.inside import messages
from nbjudge.sandbox.inside.messages import Connect, KernelReady
from nbjudge.settings import Limits

INTERRUPT_TIMEOUT = 3.0  # seconds in which an interrupted kernel must reply
STOP_TIMEOUT = 1.0  # seconds in which the relay must hand over what has arrived
PIECE = 2**20  # bytes that are sent or received at a time


R = TypeVar("R", bound=messages.Reply)


class ChannelError(Exception):
    """The relay has ended, its kernel has ended, or it sent something that is not a message."""


class KernelDiedError(Exception):
    """The kernel has ended, or its relay has, before it replied."""


class KernelProcess(Protocol):
    """A running kernel and its relay."""

    relay: socket.socket  # to the relay's process
    end_reason: str  # why the sandbox ended the kernel, if it did

    @property
    def pid(self) -> int | None:
        """The kernel's process id on this machine."""

    def is_alive(self) -> bool:
        """Return whether the kernel runs."""

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel."""

    def close(self) -> None:
        """End the kernel, all processes that it started, and its relay."""


class Channel:
    """Sends commands to the relay of a kernel and receives its replies; `counts` takes up what was sent."""

    def __init__(self, process: KernelProcess, counts: Counter[str] | None = None) -> None:
        self._counts = Counter[str]() if counts is None else counts
        self._process, self._socket = process, process.relay
        self._buffer = FrameBuffer(messages.LARGEST_FRAME)
        self._socket.setblocking(False)
        self.overflowed = False  # the relay has ended while its kernel runs: it could not hold what was sent

    def request(self, command: messages.Command, reply_type: type[R], deadline: Deadline) -> tuple[R, bool]:
        """Send a command and wait for its reply; interrupt the kernel when the deadline passes.

        Returns what the kernel answered, or sent until it was stopped, and whether it had to be interrupted.
        Raises KernelDiedError if the kernel or the relay has ended, and TimeoutError if not even the relay
        replies. The channel cannot be used any more then: a later reply would be taken for the reply to
        another command.
        """
        if not self._process.is_alive():
            raise KernelDiedError
        try:
            self.send(command, deadline)
            reply = self.receive(reply_type, deadline)
            if reply is not None:
                return reply, False
            self._process.send_signal(signal.SIGINT)
            reply = self.receive(reply_type, Deadline(INTERRUPT_TIMEOUT))
            if reply is None:
                self.send(messages.Stop(), Deadline(STOP_TIMEOUT))
                reply = self.receive(reply_type, Deadline(STOP_TIMEOUT))
        except ChannelError as error:
            self.overflowed = self._process.is_alive()
            raise KernelDiedError(str(error)) from error
        if reply is None:
            raise TimeoutError
        return reply, True

    def send(self, command: messages.Command, deadline: Deadline) -> None:
        """Send a command. Raises ChannelError, or TimeoutError if the relay does not read."""
        left = memoryview(to_frame(msgspec.json.encode(command)))
        self._counts.update({"messages": 1, "bytes sent": len(left)})
        while left:
            if not select.select([], [self._socket], [], poll_interval(deadline))[1]:
                continue
            try:
                left = left[self._socket.send(left[:PIECE]) :]
            except OSError as error:
                raise ChannelError(str(error)) from error

    def receive(self, reply_type: type[R], deadline: Deadline) -> R | None:
        """Return the next reply, or None if the deadline passes. Raises ChannelError.

        A cell that floods is interrupted meanwhile, and its kernel is ended if the cell goes on.
        """
        while True:
            message = self._next_message(reply_type)
            if isinstance(message, messages.Flood):
                self._process.send_signal(signal.SIGKILL if message.repeated else signal.SIGINT)
                continue
            if message is not None:
                return message
            try:
                wait = poll_interval(deadline)
            except TimeoutError:
                return None
            if select.select([self._socket], [], [], wait)[0]:
                try:
                    piece = self._socket.recv(PIECE)
                except OSError as error:
                    raise ChannelError(str(error)) from error
                if not piece:
                    raise ChannelError("the relay has ended")
                self._buffer.add(piece)
            elif not self._process.is_alive():
                raise ChannelError("the kernel has ended")

    def _next_message(self, reply_type: type[R]) -> R | messages.Flood | None:
        try:
            frame = self._buffer.next_frame()
            return None if frame is None else msgspec.json.decode(frame, type=reply_type | messages.Flood)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise ChannelError(f"the relay sent what is not a message: {error}") from error


def without_surrogates(text: str) -> str:
    """Return the text in a form that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()


RELAY = "from nbjudge.kernel.jupyter_relay import main; main()"
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
    """The surroundings of a notebook's kernel: its name, its limits and the modules imported before."""

    kernel_name: str = "python3"
    limits: Limits = Limits()
    sandbox: bool = True
    modules: tuple[str, ...] = ()
    exposed_modules: tuple[str, ...] = ()  # modules of the course that it can import


def start_process(folder: Path, environment: KernelEnvironment) -> KernelProcess:
    """Start a kernel, of whose working folder one in the sandbox gets a copy, and wait for its first reply.

    Raises SandboxError if no kernel can be started, or it is not ready in time.
    """
    kernel: KernelProcess
    name = environment.kernel_name
    if environment.sandbox:
        refuse_other_languages(name)
        server = current_fork_server(environment.modules, environment.exposed_modules)
        # A work folder's files are written into the kernel's private one.
        files = (path for path in sorted(folder.rglob("*")) if path.is_file()) if folder.is_dir() else ()
        content = {os.fsencode(path.relative_to(folder)): path.read_bytes() for path in files}
        kernel = server.fork(environment.limits, content)
    else:
        kernel = UnsandboxedKernel(folder, name if language_of(name) else "python3")
    try:
        deadline, channel = Deadline(environment.limits.startup), Channel(kernel)
        channel.send(Connect(), deadline)
        ready = channel.receive(KernelReady, deadline)
    except (ChannelError, TimeoutError) as error:
        kernel.close()
        raise SandboxError("The kernel died before it was ready.") from error
    if ready is None or not kernel.is_alive():  # one that waited for its notebook may have been ended since
        kernel.close()
        raise SandboxError("The kernel was not ready in time.")
    return kernel


class UnsandboxedKernel:
    """An installed kernel without a sandbox: an ordinary process of the user who grades."""

    end_reason = ""

    def __init__(self, folder: Path, kernel_name: str) -> None:
        from jupyter_client.manager import KernelManager  # nothing of Jupyter is needed in the sandbox

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
    if kernel_name == "python3":  # what Jupyter calls the kernel of its own interpreter
        return "python"
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        return str(KernelSpecManager().get_kernel_spec(kernel_name).language)
    except NoSuchKernel as error:
        if kernel_name.lower().startswith("python"):  # as old notebooks call it, and other machines theirs
            return ""
        raise SandboxError(NO_KERNEL.format(name=kernel_name, setting={kernel_name: "python3"})) from error
