"""Enforce the limits that hold for all processes of a kernel together."""

import errno
import os
import signal
import socket
import time
from contextlib import suppress

from .memory_use import Process, process_in, processes_in
from .messages import KernelLimits

CHECK_INTERVAL = 0.05  # seconds
CONFIRM_INTERVAL = 0.01  # seconds after which an exceeded limit is checked again
PAUSE_FACTOR = 4  # a pause is at least so many times as long as the last check, which may take a while
UNCOUNTED_SOCKETS = 64  # a kernel has about thirty of its own
MAX_STARTS_FACTOR = 64  # a kernel may start so many times as many processes as may run at a time
MAX_EXCESSES = 10
LONGEST_ROLLUP = 8192  # bytes; it has about thirty lines
PROCESSES = "more processes and threads than are allowed"
MEMORY = "more memory than is allowed"
DEPTH = "a working folder whose path is longer than any program can use"


class TotalLimitEnforcer:
    """Counts what a kernel uses, and ends it if a limit is exceeded.

    Create it in the kernel's network namespace, before the kernel is forked.

    Parameters
    ----------
    limits
        The limits of a notebook.
    """

    def __init__(self, limits: KernelLimits) -> None:
        self._limits = limits
        (self._supervisor,) = process_in("/proc/self")
        # Opened now, because the kernel's /proc has no supervisor; reading it takes as long as a fork.
        self._rollup: int | None = None
        with suppress(OSError):  # an older system
            self._rollup = os.open("/proc/self/smaps_rollup", os.O_RDONLY)
        self._sockets = os.open("/proc/self/net/sockstat", os.O_RDONLY)
        self._socket_buffers = socket_buffer_size()

    def enforce(self, kernel: int) -> str:
        """Wait until the kernel has ended, and end it if a limit is exceeded.

        Returns the exceeded limit, in words; empty if the kernel ended by itself.
        """
        self._started = 0
        self._excesses = 0  # checks in a row in which all processes together used too much
        self._seen: set[str] = set()  # the processes of the last check, by their folders in /proc
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # the end of the kernel ends a pause
        suspected = ""
        while True:
            ended, _ = os.waitpid(kernel, os.WNOHANG)
            if ended:
                return ""
            began = time.monotonic()
            reason = self._exceeded_limit()
            if reason and reason == suspected:
                os.kill(kernel, signal.SIGKILL)  # this ends everything in its process namespace
                os.waitpid(kernel, 0)
                return reason
            suspected = reason
            pause = max(CHECK_INTERVAL, PAUSE_FACTOR * (time.monotonic() - began))
            signal.sigtimedwait([signal.SIGCHLD], CONFIRM_INTERVAL if reason else pause)

    def _exceeded_limit(self) -> str:
        # The kernel's own /proc, which is mounted over the machine's in these mounts.
        processes = processes_in()
        threads = sum(process.threads for process in processes)
        if threads > self._limits.processes or self._has_started_too_many(processes):
            return PROCESSES
        if any(is_too_deep(process.folder) for process in processes):
            return DEPTH
        memory_left = self._limits.memory - self._memory_in_sockets()
        # A process that is about to run another program has its parent's memory for a moment. A notebook that
        # starts many has one at nearly every check, but never the same one.
        lasting = [process for process in processes if process.folder in self._seen]
        self._seen = {process.folder for process in processes}
        if self._uses_more(memory_left, lasting):
            return MEMORY
        # Processes that replace each other hold memory all the time, although none of them lasts.
        self._excesses = self._excesses + 1 if self._uses_more(memory_left, processes) else 0
        return MEMORY if self._excesses >= MAX_EXCESSES else ""

    def _uses_more(self, memory_left: int, processes: list[Process]) -> bool:
        if sum(process.held for process in processes) <= memory_left:
            return False
        # That sum counts shared memory once per process. A kernel starts with the memory of the fork server;
        # its share of that is not counted: the supervisor has the same.
        rollup = os.pread(self._rollup, LONGEST_ROLLUP, 0).decode() if self._rollup is not None else ""
        shared = self._supervisor.proportional_of(rollup)
        return sum(process.proportional for process in processes) - shared > memory_left

    def _has_started_too_many(self, processes: list[Process]) -> bool:
        """Whether the kernel has started too many processes, also those that ended between two checks.

        The kernel's namespace numbers its processes and threads in order. Those of other kernels are numbered
        in other namespaces and do not count.
        """
        self._started = max(self._started, *map(highest_number, processes), 0)
        return self._started > MAX_STARTS_FACTOR * self._limits.processes

    def _memory_in_sockets(self) -> int:
        """Bytes that the kernel's sockets may hold, which belong to no process."""
        line, *_ = os.pread(self._sockets, 4096, 0).decode().splitlines()  # sockets: used 30
        return max(0, int(line.split()[-1]) - UNCOUNTED_SOCKETS) * self._socket_buffers


def highest_number(process: Process) -> int:
    """The number of the newest thread of a process; 0 if it has just ended."""
    try:
        return max(map(int, os.listdir(f"{process.folder}/task")), default=0)
    except OSError:
        return 0


def is_too_deep(process: str) -> bool:
    """Whether a process works in a folder whose path is too long for the system.

    Python reads the path at each import, which takes minutes there and cannot be interrupted.
    """
    try:
        os.readlink(f"{process}/cwd")
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def socket_buffer_size() -> int:
    """Bytes that a socket holds at most: the seccomp filter forbids larger buffers."""
    with socket.socket(socket.AF_UNIX) as example:
        sizes = (socket.SO_SNDBUF, socket.SO_RCVBUF)
        return sum(example.getsockopt(socket.SOL_SOCKET, size) for size in sizes)
