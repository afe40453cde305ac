"""The graders that are compared notebook by notebook: each one process, asked for one student at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from memory import KernelWatch

from nbjudge.course.course import Assignment

SERVER = Path(__file__).with_name("served.py")


@dataclass
class Contender:
    """A grader's process. Seconds are by notebook; bytes of memory those of the process that ran it."""

    process: subprocess.Popen[str]
    sandboxed: bool = False
    slow: bool = False  # too slow to be asked for more than is needed
    _started: float = field(default_factory=time.perf_counter)
    _first_done: float = 0.0
    seconds: list[float] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    proportional: list[int] = field(default_factory=list)

    @property
    def start_up(self) -> float:
        """Seconds until the first notebook was done, less what a notebook takes."""
        return max(0.0, self._first_done - median(self.seconds))

    def begin(self, student: str) -> None:
        """Grade someone who is in no table: with this, the start is over."""
        if self.slow:
            self.weigh(student)
        else:
            self._ask(student)

    def grade(self, student: str) -> float:
        """Grade a student; returns the seconds that it took."""
        self.seconds.append(self._ask(student))
        return self.seconds[-1]

    def weigh(self, student: str) -> None:
        """Grade a student to see how much memory that takes. Looking takes time: it is not timed."""
        watch = KernelWatch(self.process.pid, self.sandboxed)
        watch.start()
        try:
            self._ask(student)
        finally:
            watch.end()
        self.own.append(watch.own)
        self.proportional.append(watch.proportional)

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _ask(self, student: str) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(student, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"The process that grades {student} has ended; see above.")
        self._first_done = self._first_done or time.perf_counter() - self._started
        return float(answer)


def start(name: str, lesson: Assignment, log: Path, slow: bool = False) -> Contender:
    """Start the contender `name` (see `served`) in its course folder; what it says goes into `log`."""
    with open(log, "a", encoding="utf-8") as log_file:
        process = subprocess.Popen(
            [sys.executable, str(SERVER), name, str(lesson.course.root), lesson.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log_file,
            text=True,
            env=environment(),
        )
    return Contender(process, sandboxed=name == "ours", slow=slow)


def environment() -> dict[str, str]:
    """One thread each, and nbgrader's helpers found by their names, which lie beside the interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
