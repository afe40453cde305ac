"""Count the memory of a kernel's processes: an upper bound is cheap, the exact sum is not."""

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
