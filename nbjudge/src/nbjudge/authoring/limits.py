"""What one notebook may use while it is graded."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """Time, and inside the sandbox everything else, that one notebook may use.

    The course's limits stand in `nbgrader_config.py` (`RunAndJudge`). An assignment whose checks hold a
    `Limits` of its own, under any name, is graded within that one instead.
    """

    cell: float = 30  #: seconds one cell may run
    answer: float = 10  #: seconds the answers to one case group may take
    notebook: float = 300  #: seconds for the whole notebook
    startup: float = 60  #: seconds until a kernel must be ready
    output: int = 16 * MEBIBYTE  #: bytes that all cells together may show
    memory: int = 3072 * MEBIBYTE  #: bytes that all processes of the notebook may hold
    processes: int = 64  #: processes and threads at a time
    open_files: int = 512  #: for each process
    file: int = 256 * MEBIBYTE  #: bytes of the largest file
    disk: int = 512 * MEBIBYTE  #: bytes of all files together, which are kept in memory
