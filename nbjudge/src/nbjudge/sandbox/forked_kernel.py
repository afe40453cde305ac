"""The grader's handle on a kernel in the sandbox: asked for, arrived, ended.

A kernel is begun before its notebook is there: its files come last, when somebody takes it.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import signal
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.sandbox.bubblewrap import HOME
from nbjudge.sandbox.channel import Wire
from nbjudge.sandbox.processor import claimed_processor

WORK_FOLDER = f"{HOME}/work"
INSIDE_SOCKETS = "/run/kernel/kernel"  # what the kernel itself knows its sockets by
READERS_SOCKETS = "/run/sockets"  # where its reader finds those of all kernels
CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
LONGEST_REPORT = 4096
_CREDENTIALS = 2  # SCM_CREDENTIALS, which Python 3.11 does not name


class SandboxError(CourseError):
    """No sandbox could be made, or it broke; the message says what to do."""


@dataclass
class Kernel:
    """A forked kernel: a handle on its process, the wire to its reader, and why its keeper ended it."""

    pid: int
    sockets: Path
    _pidfd: int
    _channel: socket.socket
    _wire: socket.socket
    report: str = ""

    def __post_init__(self) -> None:
        self.wire = Wire(self._wire, self.is_alive)

    def is_alive(self) -> bool:
        return not select.select([self._pidfd], [], [], 0)[0]

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def close(self) -> None:
        """End the kernel, all that it started, and its reader."""
        self.wire.close()
        self.send_signal(signal.SIGKILL)
        select.select([self._pidfd], [], [], 5)
        # The keeper reports after the last process of the kernel is gone.
        self._channel.settimeout(5)
        with suppress(OSError):
            said = self._channel.recv(LONGEST_REPORT).decode(errors="replace")
            self.report = said.removeprefix("ended: ")
        self._channel.close()
        os.close(self._pidfd)
        shutil.rmtree(self.sockets, ignore_errors=True)


@dataclass
class ComingKernel:
    """A kernel that was asked for. Its sockets are to be in the folder `sockets`."""

    sockets: Path
    limits: dict[str, Any]
    _channel: socket.socket = field(init=False)
    _theirs: socket.socket = field(init=False)
    _key: str = field(default_factory=lambda: secrets.token_hex(32))

    def __post_init__(self) -> None:
        self.sockets.mkdir(mode=0o700)
        self._channel, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._wire, self._their_wire = socket.socketpair()  # to the kernel's reader

    def ask_for(self, warm: socket.socket) -> None:
        """Have the fork server fork it. Raises OSError where that is gone."""
        request = {
            "connection": self._connection(INSIDE_SOCKETS),
            "readers_connection": self._connection(f"{READERS_SOCKETS}/{self.sockets.name}/kernel"),
            "sockets": self.sockets.name,
            "folder": WORK_FOLDER,
            "limits": self.limits,
            "processor": claimed_processor(),
        }
        with self._theirs, self._their_wire:
            _send(warm, b"fork", request, self._theirs.fileno(), self._their_wire.fileno())

    def arrive(self, files: dict[str, str], patience: float) -> Kernel:
        """The kernel, with `files` (as base64) in its work folder.

        Raises SandboxError if it does not come in `patience` seconds.
        """
        ends = time.monotonic() + patience
        pid = pidfd = 0
        try:
            pid = _sender(self._next_word(b"kernel", ends))
            # Its keeper waits for its files, not for its end: until then nobody else gets this number.
            pidfd = os.pidfd_open(pid)
            self._next_word(b"ready", ends)
            _send(self._channel, b"files", files)
            self._next_word(b"filled", ends)
        except (SandboxError, OSError) as error:
            if pidfd:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                os.close(pidfd)
            self.cancel()
            reason = str(error) if isinstance(error, SandboxError) else error.strerror
            raise SandboxError(f"A kernel could not be started in the sandbox: {reason}.") from error
        return Kernel(pid, self.sockets, pidfd, self._channel, self._wire)

    def cancel(self) -> None:
        """Nobody wants it any more: its keeper sees that, and ends with it."""
        for end in (self._theirs, self._channel, self._their_wire, self._wire):
            end.close()
        shutil.rmtree(self.sockets, ignore_errors=True)

    def _connection(self, address: str) -> dict[str, Any]:
        """How to connect, in Jupyter's words; over `ipc`, ports are the ends of file names."""
        ports = {f"{name}_port": number for number, name in enumerate(CHANNELS, start=1)}
        key = {"key": self._key, "signature_scheme": "hmac-sha256"}
        return {"transport": "ipc", "ip": address, **key, **ports}

    def _next_word(self, expected: bytes, ends: float) -> list[tuple[int, int, bytes]]:
        """What came along with the next message, which says by its credentials who sent it."""
        self._channel.settimeout(max(0.01, ends - time.monotonic()))
        try:
            said, ancillary, _, _ = self._channel.recvmsg(LONGEST_REPORT, socket.CMSG_SPACE(12))
        except TimeoutError:
            raise SandboxError("it took too long") from None
        if said != expected:
            raise SandboxError(said.decode(errors="replace").removeprefix("failed: ") or "its keeper ended")
        return ancillary


def _send(channel: socket.socket, word: bytes, content: Any, *descriptors: int) -> None:
    """A word with a file of JSON: a message itself must not be long."""
    file = os.memfd_create("request")
    try:
        left = json.dumps(content).encode()
        while left:
            left = left[os.write(file, left) :]
        os.lseek(file, 0, os.SEEK_SET)
        socket.send_fds(channel, [word], [*descriptors, file])
    finally:
        os.close(file)


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _CREDENTIALS:
            pid: int = struct.unpack("iii", data[:12])[0]
            return pid
    raise SandboxError("this system does not say which process a kernel is")
