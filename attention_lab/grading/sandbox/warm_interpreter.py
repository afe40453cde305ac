"""The grader's side of the warm interpreter: start it, ask it for kernels, replace it when it dies."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attention_lab.errors import CourseError
from attention_lab.grading.sandbox import bubblewrap

WARM_UP = 120  # seconds in which all imports must be done
_CREDENTIALS = 2  # SCM_CREDENTIALS, which Python 3.11 does not name
LONGEST_REPORT = 4096


class SandboxError(CourseError):
    """No sandbox could be made, or it broke; the message says what to do."""


@dataclass
class Kernel:
    """A forked kernel: a handle on its process, and why its keeper ended it, if it did."""

    pid: int
    _pidfd: int
    _channel: socket.socket
    report: str = ""

    def is_alive(self) -> bool:
        return not select.select([self._pidfd], [], [], 0)[0]

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def close(self) -> None:
        """End the kernel and all that it started."""
        self.send_signal(signal.SIGKILL)
        select.select([self._pidfd], [], [], 5)
        # The keeper reports after the last process of the kernel is gone.
        self._channel.settimeout(5)
        with suppress(OSError):
            said = self._channel.recv(LONGEST_REPORT).decode(errors="replace")
            self.report = said.removeprefix("ended: ")
        self._channel.close()
        os.close(self._pidfd)


@dataclass
class WarmInterpreter:
    """One interpreter inside bubblewrap that has imported `modules` and forks kernels on request."""

    modules: Sequence[str]
    _folder: TemporaryDirectory[str] = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)
    _requests: socket.socket = field(init=False)
    _kernels: int = 0
    _warm: bool = False

    def __post_init__(self) -> None:
        refusal = bubblewrap.refusal()
        if refusal is not None:
            raise SandboxError(refusal)
        self._folder = TemporaryDirectory(prefix="attention-lab-")
        os.mkdir(self.sockets, 0o700)
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(self._said, "wb") as said:
            self._process = subprocess.Popen(
                bubblewrap.command(self.sockets, theirs.fileno(), self.modules),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=[theirs.fileno()],
            )

    @property
    def sockets(self) -> Path:
        """The folder in which each kernel gets a folder for its sockets."""
        return Path(self._folder.name) / "sockets"

    @property
    def _said(self) -> Path:
        return Path(self._folder.name) / "said"

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def new_socket_folder(self) -> Path:
        self._kernels += 1
        folder = self.sockets / str(self._kernels)
        folder.mkdir(mode=0o700)
        return folder

    def fork(self, request: dict[str, Any], patience: float) -> Kernel:
        """A new kernel, ready for its first message. Raises SandboxError if there is none in time."""
        self._wait_until_warm()
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        file = os.memfd_create("request")
        try:
            _write_all(file, json.dumps(request).encode())
            socket.send_fds(self._requests, [b"fork"], [theirs.fileno(), file])
        except OSError as error:
            channel.close()
            self._process.kill()
            self._process.wait()
            raise SandboxError(f"The warm interpreter is gone ({error.strerror}).") from error
        finally:
            os.close(file)
            theirs.close()
        try:
            return _wait_for_kernel(channel, patience)
        except SandboxError:
            # Where the interpreter is just dying, whoever asks again must get a new one.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
            raise

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._folder.cleanup()

    def _wait_until_warm(self) -> None:
        if self._warm:
            return
        self._requests.settimeout(WARM_UP)
        with suppress(OSError):
            self._warm = self._requests.recv(16) == b"warm"
        if not self._warm:
            said = self._said.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise SandboxError(f"The sandbox did not start: {said[-1][:300]}.")


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
    os.lseek(file, 0, os.SEEK_SET)


def _wait_for_kernel(channel: socket.socket, patience: float) -> Kernel:
    """Read the kernel's own hello, which says by its credentials which process it is, then "ready"."""
    ends = time.monotonic() + patience
    pid, pidfd = 0, -1
    while True:
        channel.settimeout(max(0.01, ends - time.monotonic()))
        try:
            said, ancillary, _, _ = channel.recvmsg(LONGEST_REPORT, socket.CMSG_SPACE(12))
        except OSError:
            said, ancillary = b"failed: it took too long", []
        if said == b"kernel":
            pid = _sender(ancillary)
            pidfd = os.pidfd_open(pid)
        elif said == b"ready" and pid:
            return Kernel(pid, pidfd, channel)
        else:
            channel.close()
            if pidfd >= 0:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                os.close(pidfd)
            reason = said.decode(errors="replace").removeprefix("failed: ") or "its keeper ended"
            raise SandboxError(f"A kernel could not be started in the sandbox: {reason}.")


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _CREDENTIALS:
            pid: int = struct.unpack("iii", data[:12])[0]
            return pid
    raise SandboxError("This system does not say which process a kernel is.")


_current: list[WarmInterpreter] = []


def warm_interpreter(modules: Sequence[str] = ()) -> WarmInterpreter:
    """This process's warm interpreter, which may still be warming up.

    A dead one, or one with other modules, is replaced.
    """
    if _current and (not _current[0].is_alive or tuple(_current[0].modules) != tuple(modules)):
        _current.pop().close()
    if not _current:
        _current.append(WarmInterpreter(tuple(modules)))
    return _current[0]


@atexit.register
def close_warm_interpreter() -> None:
    """End this process's warm interpreter, and with it every kernel it forked."""
    while _current:
        _current.pop().close()
