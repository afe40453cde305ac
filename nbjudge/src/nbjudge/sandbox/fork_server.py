"""The grader's side of the fork server: start it, ask it for kernels, replace it when it dies."""

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
from typing import Any

from nbjudge.sandbox import bubblewrap
from nbjudge.sandbox.forked_kernel import ComingKernel, Kernel, SandboxError

WARM_UP = 120  # seconds in which all imports must be done
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
    helpers
        The course's own modules that student code may import.
    folder
        Where the kernels' sockets are, and what the fork server printed.
    requests
        The socket on which the fork server reads requests.
    """

    modules: Sequence[str]
    helpers: Sequence[str]
    folder: Path
    requests: socket.socket
    _spare: ComingKernel | None = None
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

    def fork(self, limits: dict[str, Any], files: dict[str, str], patience: float) -> Kernel:
        """A kernel within `limits` that finds `files` (as base64) in its work folder.

        The next one is begun at once, so that whoever asks again need not wait for it.
        Raises SandboxError if there is none in `patience` seconds.
        """
        kernel = self._begun_before(limits, files, patience)
        if kernel is None:
            kernel = self._forked_now(limits, files, patience)
        try:
            self._spare = self._begin(limits)
        except SandboxError:
            kernel.close()
            raise
        return kernel

    def _begun_before(self, limits: dict[str, Any], files: dict[str, str], patience: float) -> Kernel | None:
        """The kernel that was begun after the last one, if it is there and of the right kind."""
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        if spare.limits != limits:
            spare.cancel()
            return None
        try:
            return spare.arrive(files, patience)
        except SandboxError:  # something has ended it while nobody needed it
            return None

    def _forked_now(self, limits: dict[str, Any], files: dict[str, str], patience: float) -> Kernel:
        """A kernel that nobody began; the first one waits until the fork server has imported all."""
        try:
            kernel = self._begin(limits).arrive(files, patience + (0 if self._has_forked else WARM_UP))
        except SandboxError:
            if self._has_forked or self.is_alive:
                raise
            printed = (self.folder / PRINTED).read_text(errors="replace").strip().splitlines()
            last = printed[-1][:300] if printed else "it printed nothing"
            raise SandboxError(f"The sandbox did not start: {last}.") from None
        self._has_forked = True
        return kernel

    def _begin(self, limits: dict[str, Any]) -> ComingKernel:
        coming = ComingKernel(self.sockets / secrets.token_hex(8), limits)
        try:
            coming.ask_for(self.requests)
        except OSError as error:
            coming.cancel()
            raise SandboxError(f"The fork server is gone ({error.strerror}).") from error
        return coming

    def drop_spare(self) -> None:
        """End the kernel that was begun for whoever asks next."""
        if self._spare is not None:
            self._spare.cancel()
            self._spare = None

    def close(self) -> None:
        self.drop_spare()
        self.requests.close()


class ForkServer(ForkServerClient):
    """One interpreter inside bubblewrap that has imported `modules` and forks kernels on request.

    Of the course's own modules, student code sees `helpers` only. The fork server ends with its owner: the
    process and the thread that made it. Raises SandboxError where this machine has no sandbox.
    """

    def __init__(self, modules: Sequence[str], helpers: Sequence[str] = ()) -> None:
        refusal = bubblewrap.refusal()
        if refusal is not None:
            raise SandboxError(refusal)
        self._folder = TemporaryDirectory(prefix="nbjudge-")
        requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(tuple(modules), tuple(helpers), Path(self._folder.name), requests)
        os.mkdir(self.sockets, 0o700)
        try:
            with theirs, open(self.folder / PRINTED, "wb") as printed:
                self._process = subprocess.Popen(
                    bubblewrap.command(self.sockets, theirs.fileno(), self.modules, self.helpers),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=printed,
                    pass_fds=[theirs.fileno()],
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
        return ForkServerClient(self.modules, self.helpers, self.folder, self.requests)

    def close(self) -> None:
        self.drop_spare()
        self._process.kill()
        self._process.wait()
        self.requests.close()
        self._folder.cleanup()


_current: list[ForkServerClient] = []


def use_fork_server(shared: ForkServerClient) -> None:
    """Have this process ask a fork server of another process, for as long as that lives."""
    close_fork_server()
    _current.append(shared)


def current_fork_server(modules: Sequence[str] = (), helpers: Sequence[str] = ()) -> ForkServerClient:
    """The fork server that this process uses, which may still be importing.

    A dead one, or one with other modules, is replaced by one of this process's own.
    """
    wanted = (tuple(modules), tuple(helpers))
    if _current and (not _current[0].is_alive or (_current[0].modules, _current[0].helpers) != wanted):
        _current.pop().close()
    if not _current:
        _current.append(ForkServer(*wanted))
    return _current[0]


@atexit.register
def close_fork_server() -> None:
    """End this process's own fork server and all its kernels, or leave the one of another process."""
    while _current:
        _current.pop().close()
