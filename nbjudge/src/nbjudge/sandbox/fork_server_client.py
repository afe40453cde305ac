"""The grader's side of the fork server: start it, request kernels from it, replace it when it has died.

A kernel is requested before its notebook is there; the files of the notebook follow when they are known.
"""

from __future__ import annotations

import atexit
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from nbjudge.errors import SandboxError
from nbjudge.sandbox import bubblewrap
from nbjudge.sandbox.inside.messages import LONGEST_REPORT, KernelLimits, KernelRequest, Report
from nbjudge.settings import Limits

END_TIMEOUT = 5  # seconds in which a kernel ends, and its supervisor reports it
WORK_FOLDER = f"{bubblewrap.HOME}/work"
_CREDENTIALS = 2  # SCM_CREDENTIALS, which Python 3.11 does not name


@dataclass
class SandboxedKernel:
    """A kernel in the sandbox: its process, the socket to its relay, and why its supervisor ended it."""

    pid: int
    relay: socket.socket
    _pidfd: int
    _supervisor: socket.socket
    end_reason: str = ""

    def is_alive(self) -> bool:
        """Return whether the kernel runs."""
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


@dataclass
class PendingKernel:
    """A kernel that was requested and is not yet ready."""

    limits: Limits
    _supervisor: socket.socket = field(init=False)
    _supervisor_end: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self._supervisor, self._supervisor_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._supervisor.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._relay, self._relay_end = socket.socketpair()

    def request(self, server: socket.socket) -> None:
        """Have the fork server fork the kernel. Raises OSError if the server has ended."""
        request = KernelRequest(
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
        return SandboxedKernel(pid, self._relay, pidfd, self._supervisor)

    def cancel(self) -> None:
        """Close the sockets: the supervisor notices that, and ends with its kernel."""
        for end in (self._supervisor_end, self._supervisor, self._relay_end, self._relay):
            end.close()

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


IMPORT_TIMEOUT = 120  # seconds in which the fork server must have imported everything
PRINTED = "stderr"  # the file of what the fork server printed


@dataclass
class ForkServerClient:
    """Asks a fork server, which may be another process's, for kernels.

    Several processes may ask one fork server, each with a client of its own: a message on
    `requests` arrives whole.

    Parameters
    ----------
    modules
        What the fork server has imported.
    exposed_modules
        The course's own modules that student code may import.
    folder
        Where the file is with what the fork server printed.
    requests
        The socket on which the fork server reads requests.
    """

    modules: Sequence[str]
    exposed_modules: Sequence[str]
    folder: Path
    requests: socket.socket
    _spare: PendingKernel | None = None
    _has_forked: bool = False

    @property
    def is_alive(self) -> bool:
        """Return whether the fork server still holds its end of the socket."""
        poll = select.poll()
        poll.register(self.requests, 0)  # only a hang-up is reported
        return not poll.poll(0)

    def fork(self, limits: Limits, files: dict[bytes, bytes]) -> SandboxedKernel:
        """Return a kernel, and request the next one, so that the next notebook need not wait.

        Parameters
        ----------
        limits
            Those of the notebook.
        files
            What the work folder holds: path -> content.

        Raises
        ------
        SandboxError
            If the fork server or the kernel does not start in time.
        """
        kernel = self._take_spare(limits, files) or self._fork_now(limits, files)
        try:
            self._spare = self._request(limits)
        except SandboxError:
            kernel.close()
            raise
        return kernel

    def _take_spare(self, limits: Limits, files: dict[bytes, bytes]) -> SandboxedKernel | None:
        """The kernel that was requested after the last one, if it has these limits and still runs."""
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        if spare.limits != limits:
            spare.cancel()
            return None
        try:
            return spare.start(files, limits.startup)
        except SandboxError:  # something has ended it while it was not needed
            return None

    def _fork_now(self, limits: Limits, files: dict[bytes, bytes]) -> SandboxedKernel:
        """A kernel that was not requested before; the first waits for the imports of the fork server."""
        try:
            kernel = self._request(limits).start(
                files, limits.startup + (0 if self._has_forked else IMPORT_TIMEOUT)
            )
        except SandboxError:
            if self._has_forked or self.is_alive:
                raise
            printed = (self.folder / PRINTED).read_text(errors="replace").strip().splitlines()
            last = printed[-1][:300] if printed else "it printed nothing"
            raise SandboxError(f"The sandbox did not start: {last}.") from None
        self._has_forked = True
        return kernel

    def _request(self, limits: Limits) -> PendingKernel:
        pending = PendingKernel(limits)
        try:
            pending.request(self.requests)
        except OSError as error:
            pending.cancel()
            raise SandboxError(f"The fork server has ended ({error.strerror}).") from error
        return pending

    def drop_spare(self) -> None:
        """End the kernel that was requested for the next notebook."""
        if self._spare is not None:
            self._spare.cancel()
            self._spare = None

    def close(self) -> None:
        self.drop_spare()
        self.requests.close()


class ForkServer(ForkServerClient):
    """One interpreter inside bubblewrap that has imported `modules` and forks kernels on request.

    Of the course's own modules, student code sees `exposed_modules` only. The fork server ends with its
    owner: the process and the thread that made it. Raises SandboxError where this machine has no sandbox.
    """

    def __init__(self, modules: Sequence[str], exposed_modules: Sequence[str] = ()) -> None:
        refusal = bubblewrap.sandbox_refusal()
        if refusal is not None:
            raise SandboxError(refusal)
        self._folder = TemporaryDirectory(prefix="nbjudge-")
        requests, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(tuple(modules), tuple(exposed_modules), Path(self._folder.name), requests)
        try:
            with child_end, open(self.folder / PRINTED, "wb") as printed:
                self._process = subprocess.Popen(
                    bubblewrap.command(child_end.fileno(), self.modules, self.exposed_modules),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=printed,
                    pass_fds=[child_end.fileno()],
                )
        except BaseException:
            self.requests.close()
            self._folder.cleanup()
            raise

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None and super().is_alive

    def client(self) -> ForkServerClient:
        """Return what another process is given, so that it can ask this fork server for kernels."""
        return ForkServerClient(self.modules, self.exposed_modules, self.folder, self.requests)

    def close(self) -> None:
        super().close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


_current: list[ForkServerClient] = []


def use_fork_server(shared: ForkServerClient) -> None:
    """Have this process ask a fork server of another process, for as long as that lives."""
    close_fork_server()
    _current.append(shared)


def current_fork_server(modules: Sequence[str] = (), exposed_modules: Sequence[str] = ()) -> ForkServerClient:
    """The fork server that this process uses, which may still be importing.

    A dead one, or one with other modules, is replaced by one of this process's own.
    """
    wanted = (tuple(modules), tuple(exposed_modules))
    if _current and (
        not _current[0].is_alive or (_current[0].modules, _current[0].exposed_modules) != wanted
    ):
        _current.pop().close()
    if not _current:
        _current.append(ForkServer(*wanted))
    return _current[0]


@atexit.register
def close_fork_server() -> None:
    """End this process's own fork server and all its kernels, or leave the one of another process."""
    while _current:
        _current.pop().close()
