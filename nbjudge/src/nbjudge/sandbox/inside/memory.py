"""What a kernel's processes hold in memory, counted from outside: cheaply, and exactly where that matters."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KIBIBYTE = 1024
# Of /proc/PID/status: memory of its own and shared memory, what of it was put on disk, huge pages that
# the machine sets apart, and what the system needs to find all that.
HELD = ("RssAnon", "RssShmem", "VmSwap", "HugetlbPages", "VmPTE")
# Of /proc/PID/smaps_rollup: the same, but of a page that several processes share, to each its part.
PARTS = ("Pss_Anon", "Pss_Shmem", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb")


@dataclass(frozen=True)
class Process:
    """One process at a moment: its threads, and bytes of memory if nothing of it were shared."""

    folder: str  # in /proc
    threads: int
    held: int
    tables: int

    @property
    def proportional(self) -> int:
        """Bytes of memory, of what it shares its part."""
        try:
            sizes = sizes_in(f"{self.folder}/smaps_rollup")
        except OSError:  # it lets nobody look, or has just ended
            return self.held
        if "Pss_Anon" not in sizes:  # an older system, or a process that has just ended
            return self.held
        return sum(sizes.get(name, 0) for name in PARTS) + self.tables


def processes_in(proc: str = "/proc") -> list[Process]:
    """All processes that a /proc shows."""
    names = (name for name in os.listdir(proc) if name.isdigit())
    return [process for name in names for process in looked_at(f"{proc}/{name}")]


def looked_at(folder: str) -> Iterator[Process]:
    """The process of a folder in /proc; nothing where it has just ended."""
    try:
        sizes = sizes_in(f"{folder}/status")
        threads = sizes.get("Threads", KIBIBYTE) // KIBIBYTE
        if "RssAnon" not in sizes and threads > 1:
            # Its first thread has ended: the system says of another one what the process holds.
            threads_of = sorted(os.listdir(f"{folder}/task"), key=int)
            folder = f"{os.path.dirname(folder)}/{threads_of[-1]}"
            sizes = sizes_in(f"{folder}/status")
    except OSError:
        return
    held = sum(sizes.get(name, 0) for name in HELD)
    yield Process(folder, threads, held, sizes.get("VmPTE", 0))


def sizes_in(file: str) -> dict[str, int]:
    """The lines `Name:  12 kB` of a file of /proc, in bytes."""
    sizes = {}
    for line in Path(file).read_text().splitlines():
        name, _, rest = line.partition(":")
        number, *_ = rest.split() or [""]
        if number.isdigit():
            sizes[name] = int(number) * KIBIBYTE
    return sizes
