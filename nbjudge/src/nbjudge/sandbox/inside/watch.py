"""Watches what all processes of a kernel take together, and ends the kernel when it is too much."""

import errno
import os
import signal
import socket
import time

from .memory import Process, looked_at, processes_in

BETWEEN_LOOKS = 0.05  # seconds
UNTIL_SURE = 0.01  # seconds after which too much is looked at again
REST = 4  # times as long as a look took, the keeper rests: counting exactly may take a while
UNCOUNTED_SOCKETS = 64  # a kernel has about thirty of its own
STARTED = 64  # times as many processes and threads as there may be at a time may be started altogether
PROCESSES = "more processes and threads than are allowed"
MEMORY = "more memory than is allowed"
DEPTH = "a working folder whose path is longer than any program can use"


class Watch:
    """Limits and what counts against them. Made in the kernel's network, before the kernel is forked."""

    def __init__(self, limits: dict[str, int]) -> None:
        self._limits = limits
        # A kernel begins with the memory of the fork server, of which its part is nobody's doing.
        (keeper,) = looked_at("/proc/self")
        self._shared = keeper.proportional
        self._sockets = os.open("/proc/self/net/sockstat", os.O_RDONLY)
        self._of_a_socket = most_in_a_socket()

    def until_the_end_of(self, kernel: int) -> str:
        """Wait until the kernel has ended; end it when all its processes together take too much.

        Returns what they took too much of, nothing if the kernel ended without the keeper.
        """
        self._started = 0
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # the kernel's end ends a wait at once
        suspected = ""
        while True:
            ended, _ = os.waitpid(kernel, os.WNOHANG)
            if ended:
                return ""
            began = time.monotonic()
            reason = self._too_much()
            # A process that is about to become another program has, for a moment, its parent's memory.
            if reason and reason == suspected:
                os.kill(kernel, signal.SIGKILL)  # and with it everything in its process namespace
                os.waitpid(kernel, 0)
                return reason
            suspected = reason
            pause = UNTIL_SURE if reason else max(BETWEEN_LOOKS, REST * (time.monotonic() - began))
            signal.sigtimedwait([signal.SIGCHLD], pause)

    def _too_much(self) -> str:
        # The kernel's own /proc: it is mounted over everyone's in the mounts we share.
        own = processes_in()
        if sum(process.threads for process in own) > self._limits["processes"] or self._started_too_many(own):
            return PROCESSES
        if any(is_too_deep(process.folder) for process in own):
            return DEPTH
        room = self._limits["memory"] - self._in_sockets()
        if sum(process.held for process in own) <= room:
            return ""
        # That counts what processes share once for each of them.
        exact = sum(process.proportional for process in own)
        return MEMORY if exact - self._shared > room else ""

    def _started_too_many(self, own: list[Process]) -> bool:
        """Whether too many were started, also of those that ended between two looks.

        The kernel's namespace numbers its processes and threads in order. What other kernels start is
        numbered elsewhere and does not count.
        """
        self._started = max(self._started, *map(highest_number, own), 0)
        return self._started > STARTED * self._limits["processes"]

    def _in_sockets(self) -> int:
        """Bytes that may lie in the kernel's sockets, which are no process's memory."""
        line, *_ = os.pread(self._sockets, 4096, 0).decode().splitlines()  # sockets: used 30
        return max(0, int(line.split()[-1]) - UNCOUNTED_SOCKETS) * self._of_a_socket


def highest_number(process: Process) -> int:
    """The number of the newest thread of a process; 0 if it has just ended."""
    try:
        return max(map(int, os.listdir(f"{process.folder}/task")), default=0)
    except OSError:
        return 0


def is_too_deep(process: str) -> bool:
    """Whether a process works in a folder within so many that the system cannot name it.

    Python looks for its name at each import, which takes minutes there and cannot be interrupted.
    """
    try:
        os.readlink(f"{process}/cwd")
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def most_in_a_socket() -> int:
    """Bytes that a socket holds at most: the filter lets nobody ask for larger buffers."""
    with socket.socket(socket.AF_UNIX) as example:
        sizes = (socket.SO_SNDBUF, socket.SO_RCVBUF)
        return sum(example.getsockopt(socket.SOL_SOCKET, size) for size in sizes)
