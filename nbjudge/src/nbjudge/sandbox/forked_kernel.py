"""A kernel in the sandbox, as the grader sees it: requested, started, ended.

A kernel is requested before its notebook is there; the files of the notebook follow when they are known.
"""

from __future__ import annotations

import os
import random
import secrets
import select
import shutil
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from nbjudge.errors import SandboxError
from nbjudge.sandbox.bubblewrap import HOME
from nbjudge.sandbox.inside.messages import LONGEST_REPORT, KernelLimits, KernelRequest, Report
from nbjudge.settings import Limits

END_TIMEOUT = 5  # seconds in which a kernel ends, and its supervisor reports it
WORK_FOLDER = f"{HOME}/work"
KERNEL_SOCKETS = "/run/kernel/kernel"  # the path of a kernel's sockets as the kernel sees it
ALL_SOCKETS = "/run/sockets"  # where its relay finds the sockets of all kernels
CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
_CREDENTIALS = 2  # SCM_CREDENTIALS, which Python 3.11 does not name


@dataclass
class SandboxedKernel:
    """A kernel in the sandbox: its process, the socket to its relay, and why its supervisor ended it."""

    pid: int
    sockets: Path
    relay: socket.socket
    _pidfd: int
    _supervisor: socket.socket
    end_reason: str = ""

    def is_alive(self) -> bool:
        """Whether the kernel runs."""
        return not select.select([self._pidfd], [], [], 0)[0]

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def close(self) -> None:
        """End the kernel, all processes that it started, and its relay."""
        self.relay.close()
        self.send_signal(signal.SIGKILL)
        select.select([self._pidfd], [], [], END_TIMEOUT)
        # The supervisor reports after the last process of the kernel has ended.
        self._supervisor.settimeout(END_TIMEOUT)
        with suppress(OSError, msgspec.DecodeError):
            self.end_reason = msgspec.json.decode(self._supervisor.recv(LONGEST_REPORT), type=Report).reason
        self._supervisor.close()
        os.close(self._pidfd)
        shutil.rmtree(self.sockets, ignore_errors=True)


@dataclass
class PendingKernel:
    """A kernel that was requested and is not yet ready. Its sockets will be in the folder `sockets`."""

    sockets: Path
    limits: Limits
    _supervisor: socket.socket = field(init=False)
    _supervisor_end: socket.socket = field(init=False)
    _key: str = field(default_factory=lambda: secrets.token_hex(32))

    def __post_init__(self) -> None:
        self.sockets.mkdir(mode=0o700)
        self._supervisor, self._supervisor_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._supervisor.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._relay, self._relay_end = socket.socketpair()

    def request(self, server: socket.socket) -> None:
        """Have the fork server fork the kernel. Raises OSError if the server has ended."""
        request = KernelRequest(
            connection=self._connection(KERNEL_SOCKETS),
            relay_connection=self._connection(f"{ALL_SOCKETS}/{self.sockets.name}/kernel"),
            sockets=self.sockets.name,
            folder=WORK_FOLDER,
            limits=msgspec.convert(self.limits, KernelLimits, from_attributes=True),
            processor=claimed_processor(),
        )
        with self._supervisor_end, self._relay_end:
            _send(server, request, self._supervisor_end.fileno(), self._relay_end.fileno())

    def start(self, files: dict[bytes, bytes], timeout: float) -> SandboxedKernel:
        """Put files (path -> content) into the kernel's work folder and return the kernel.

        Raises SandboxError if it is not ready within `timeout` seconds.
        """
        ends = time.monotonic() + timeout
        pid = pidfd = 0
        try:
            pid = _sender(self._receive("started", ends))
            # Until its supervisor has the files it does not wait for the end of the kernel: so no other
            # process can get this pid.
            pidfd = os.pidfd_open(pid)
            self._receive("ready", ends)
            _send(self._supervisor, files)
            self._receive("filled", ends)
        except (SandboxError, OSError) as error:
            if pidfd:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                os.close(pidfd)
            self.cancel()
            reason = str(error) if isinstance(error, SandboxError) else error.strerror
            raise SandboxError(f"A kernel could not be started in the sandbox: {reason}.") from error
        return SandboxedKernel(pid, self.sockets, self._relay, pidfd, self._supervisor)

    def cancel(self) -> None:
        """Close the sockets: the supervisor notices that, and ends with its kernel."""
        for end in (self._supervisor_end, self._supervisor, self._relay_end, self._relay):
            end.close()
        shutil.rmtree(self.sockets, ignore_errors=True)

    def _connection(self, address: str) -> dict[str, str | int]:
        """A Jupyter connection; over `ipc`, ports are the ends of file names."""
        ports = {f"{name}_port": number for number, name in enumerate(CHANNELS, start=1)}
        key = {"key": self._key, "signature_scheme": "hmac-sha256"}
        return {"transport": "ipc", "ip": address, **key, **ports}

    def _receive(self, expected: str, ends: float) -> list[tuple[int, int, bytes]]:
        """Receive the next report and return its ancillary data, which says who sent it."""
        self._supervisor.settimeout(max(0.01, ends - time.monotonic()))
        try:
            message, ancillary, _, _ = self._supervisor.recvmsg(LONGEST_REPORT, socket.CMSG_SPACE(12))
        except TimeoutError:
            raise SandboxError("it took too long") from None
        if not message:
            raise SandboxError("its supervisor ended")
        report = msgspec.json.decode(message, type=Report)
        if report.state != expected:
            raise SandboxError(report.reason or f"it {report.state}")
        return ancillary


def _send(receiver: socket.socket, content: Any, *descriptors: int) -> None:
    """Send the descriptor of a file of JSON, because a message itself must be short."""
    file = os.memfd_create("request")
    try:
        left = msgspec.json.encode(content)
        while left:
            left = left[os.write(file, left) :]
        os.lseek(file, 0, os.SEEK_SET)
        socket.send_fds(receiver, [b"-"], [*descriptors, file])
    finally:
        os.close(file)


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int:
    """The pid of the process that sent a message."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _CREDENTIALS:
            pid: int = struct.unpack("iii", data[:12])[0]
            return pid
    raise SandboxError("this system does not say which process a kernel is")


def claimed_processor() -> int | None:
    """Return the number of the processor that this process claims for its kernels; None if none is free.

    A claim is the name of a socket, which the system frees when the process ends.
    """
    return _claim(os.getpid())


@cache
def _claim(process: int) -> int | None:
    """Claim a processor once per process, also in a fork of one that has a claim."""
    if sys.platform != "linux":
        return None
    processors = list(os.sched_getaffinity(0))
    random.shuffle(processors)  # graders in other containers do not see these claims
    for processor in processors:
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0nbjudge-processor-{os.getuid()}-{processor}")
        except OSError:  # claimed by another process
            claim.close()
        else:
            claim.detach()  # it stays open as long as this process lives
            return processor
    return None
