"""Count what a kernel's processes use, and enforce the limits that hold for all of them together.

An upper bound of their memory is cheap to count, the exact sum is not.
"""

import errno
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .messages import KernelLimits

KIBIBYTE = 1024
# Fields of /proc/PID/status: private and shared memory, swapped memory, huge pages, page tables.
HELD = ("RssAnon", "RssShmem", "VmSwap", "HugetlbPages", "VmPTE")
# Fields of /proc/PID/smaps_rollup: the same, where a shared page counts in equal parts for its processes.
PARTS = ("Pss_Anon", "Pss_Shmem", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb")


@dataclass(frozen=True)
class Process:
    """One process at a moment: its threads, and its memory in bytes, with all of what it shares."""

    folder: str  # in /proc
    threads: int
    held: int
    tables: int

    @property
    def proportional(self) -> int:
        """Bytes of memory, with its part of what it shares."""
        try:
            return self.proportional_of(Path(f"{self.folder}/smaps_rollup").read_text())
        except OSError:  # it cannot be read, or has just ended
            return self.held

    def proportional_of(self, rollup: str) -> int:
        """Bytes of memory, with its part of what it shares, by the text of its `smaps_rollup`."""
        sizes = sizes_of(rollup)
        if "Pss_Anon" not in sizes:  # an older system, or a process that has just ended
            return self.held
        return sum(sizes.get(name, 0) for name in PARTS) + self.tables


def processes_in(proc: str = "/proc") -> list[Process]:
    """All processes of a /proc."""
    names = (name for name in os.listdir(proc) if name.isdigit())
    return [process for name in names for process in process_in(f"{proc}/{name}")]


def process_in(folder: str) -> Iterator[Process]:
    """The process of a folder in /proc; none if it has just ended."""
    try:
        sizes = sizes_in(f"{folder}/status")
        threads = sizes.get("Threads", KIBIBYTE) // KIBIBYTE
        if "RssAnon" not in sizes and threads > 1:
            # Its first thread has ended: another thread has the numbers of the process.
            threads_of = sorted(os.listdir(f"{folder}/task"), key=int)
            folder = f"{os.path.dirname(folder)}/{threads_of[-1]}"
            sizes = sizes_in(f"{folder}/status")
    except OSError:
        return
    held = sum(sizes.get(name, 0) for name in HELD)
    yield Process(folder, threads, held, sizes.get("VmPTE", 0))


def limit_memory(more: int, hard: int | None = None) -> None:
    """Limit how many bytes this process may hold beyond those that it holds now.

    Children inherit the limit; they may raise it up to `hard`, which is the same where none is given.
    """
    if sys.platform != "linux":  # elsewhere the limit means something else
        return
    limit = sizes_in("/proc/self/status").get("VmData", 0) + more
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit if hard is None else hard))


def sizes_in(file: str) -> dict[str, int]:
    """The lines `Name:  12 kB` of a file of /proc, in bytes."""
    return sizes_of(Path(file).read_text())


def sizes_of(text: str) -> dict[str, int]:
    """The lines `Name:  12 kB` of a text, in bytes."""
    sizes = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        number, *_ = rest.split() or [""]
        if number.isdigit():
            sizes[name] = int(number) * KIBIBYTE
    return sizes


CHECK_INTERVAL = 0.05  # seconds
CONFIRM_INTERVAL = 0.01  # seconds after which an exceeded limit is checked again
PAUSE_FACTOR = 4  # a pause is at least so many times as long as the last check, which may take a while
UNCOUNTED_SOCKETS = 64  # a kernel has three of its own, and libraries have some
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
        """Return whether the kernel has started too many processes, also those that ended between two checks.

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
    """Return whether a process works in a folder whose path is too long for the system.

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
