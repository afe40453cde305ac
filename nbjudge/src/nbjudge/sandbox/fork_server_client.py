"""The grader's side of the fork server: start it, request kernels from it, replace it when it has died."""

from __future__ import annotations

import atexit
import os
import secrets
import select
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from nbjudge.errors import SandboxError
from nbjudge.sandbox import bubblewrap
from nbjudge.sandbox.forked_kernel import PendingKernel, SandboxedKernel
from nbjudge.settings import Limits

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
        Where the kernels' sockets are, and what the fork server printed.
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
    def sockets(self) -> Path:
        """The folder in which each kernel gets a folder for its sockets."""
        return self.folder / "sockets"

    @property
    def is_alive(self) -> bool:
        """Whether the fork server still holds its end of the socket."""
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
        kernel = self._take_spare(limits, files)
        if kernel is None:
            kernel = self._fork_now(limits, files)
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
        pending = PendingKernel(self.sockets / secrets.token_hex(8), limits)
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
        refusal = bubblewrap.refusal()
        if refusal is not None:
            raise SandboxError(refusal)
        self._folder = TemporaryDirectory(prefix="nbjudge-")
        requests, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(tuple(modules), tuple(exposed_modules), Path(self._folder.name), requests)
        os.mkdir(self.sockets, 0o700)
        try:
            with child_end, open(self.folder / PRINTED, "wb") as printed:
                self._process = subprocess.Popen(
                    bubblewrap.command(self.sockets, child_end.fileno(), self.modules, self.exposed_modules),
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
        """What another process is given, so that it can ask this fork server for kernels."""
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
