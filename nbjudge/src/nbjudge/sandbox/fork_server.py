"""The grader's side of the fork server: start it, ask it for kernels, replace it when it dies."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbjudge.sandbox import bubblewrap
from nbjudge.sandbox.forked_kernel import ComingKernel, Kernel, SandboxError

WARM_UP = 120  # seconds in which all imports must be done


@dataclass
class ForkServer:
    """One interpreter inside bubblewrap that has imported `modules` and forks kernels on request.

    Of the course's own modules it is shown `helpers`.
    """

    modules: Sequence[str]
    helpers: Sequence[str] = ()
    _folder: TemporaryDirectory[str] = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)
    _requests: socket.socket = field(init=False)
    _kernels: int = 0
    _spare: ComingKernel | None = None
    _warm: bool = False

    def __post_init__(self) -> None:
        refusal = bubblewrap.refusal()
        if refusal is not None:
            raise SandboxError(refusal)
        self._folder = TemporaryDirectory(prefix="nbjudge-")
        os.mkdir(self.sockets, 0o700)
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, open(self._said, "wb") as said:
                self._process = subprocess.Popen(
                    bubblewrap.command(self.sockets, theirs.fileno(), self.modules, self.helpers),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    pass_fds=[theirs.fileno()],
                )
        except BaseException:
            self._requests.close()
            self._folder.cleanup()
            raise

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

    def fork(self, limits: dict[str, Any], files: dict[str, str], patience: float) -> Kernel:
        """A kernel within `limits` that finds `files` (as base64) in its work folder.

        The next one is begun at once, so that whoever asks again need not wait for it.
        Raises SandboxError if there is none in `patience` seconds.
        """
        self._wait_until_warm()
        kernel = self._begun_before(limits, files, patience)
        if kernel is None:
            kernel = self._begin(limits).arrive(files, patience)
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

    def _begin(self, limits: dict[str, Any]) -> ComingKernel:
        self._kernels += 1
        coming = ComingKernel(self.sockets / str(self._kernels), limits)
        try:
            coming.ask_for(self._requests)
        except OSError as error:
            coming.cancel()
            self._process.kill()
            self._process.wait()
            raise SandboxError(f"The fork server is gone ({error.strerror}).") from error
        return coming

    def drop_spare(self) -> None:
        """End the kernel that was begun for whoever asks next."""
        if self._spare is not None:
            self._spare.cancel()
            self._spare = None

    def close(self) -> None:
        self.drop_spare()
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


_current: list[ForkServer] = []


def current_fork_server(modules: Sequence[str] = (), helpers: Sequence[str] = ()) -> ForkServer:
    """This process's fork server, which may still be warming up.

    A dead one, or one with other modules, is replaced.
    """
    wanted = (tuple(modules), tuple(helpers))
    if _current and (not _current[0].is_alive or (_current[0].modules, _current[0].helpers) != wanted):
        _current.pop().close()
    if not _current:
        _current.append(ForkServer(*wanted))
    return _current[0]


@atexit.register
def close_fork_server() -> None:
    """End this process's fork server, and with it every kernel it forked."""
    while _current:
        _current.pop().close()
