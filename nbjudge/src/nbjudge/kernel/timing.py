"""Time: how long a kernel may take for one command and one notebook for everything, and what was used.

A kernel is charged for its own processor time, not for what a busy machine takes from it.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from nbjudge.calls import Call, Reply

MAX_POLL_INTERVAL = 0.25  # seconds between two looks at a deadline
MIN_POLL_INTERVAL = 0.02
WALL_CLOCK_FACTOR = 3  # a deadline ends after so many times its seconds by the clock
BUSY_STATES = frozenset("RD")  # running or ready to run, or waiting for a disk: see proc_pid_stat(5)
MIN_CELL_SECONDS = 2.0  # seconds that a cell has, however many cells timed out before it
MIN_SECONDS = 1.0  # seconds that a cell or a call has, however little of the notebook's time is left
MAX_LOSSES_PER_EXERCISE = 2  # more are not counted
MAX_HALVINGS = 3


class Deadline:
    """The end of a wait: by the clock, or by the own time of the kernel with this process id.

    A kernel's own time is processor time while it works, and clock time while it sleeps. A kernel that is
    ready to run but waits for a processor is not charged for the wait. Time is charged whenever
    `seconds_left` is read, so read it often. The deadline also ends after `WALL_CLOCK_FACTOR` times its
    seconds by the clock, and when `time.monotonic()` reaches `ends`.
    """

    def __init__(self, seconds: float, pid: int | None = None, ends: float = float("inf")) -> None:
        self._process = None
        if pid is not None:
            with suppress(psutil.Error):  # it has ended, which is noticed elsewhere
                self._process = psutil.Process(pid)
        self._left = seconds
        self._checked = time.monotonic()
        self._cpu_time = _cpu_time(self._process)
        self._clock_ends = min(self._checked + WALL_CLOCK_FACTOR * seconds, ends)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; 0 or less once it has passed."""
        now = time.monotonic()
        if now - self._checked < MIN_POLL_INTERVAL:  # nothing worth reading the system's files for
            return min(self._left, self._clock_ends - now)
        cpu_time = _cpu_time(self._process)
        spent = cpu_time - self._cpu_time
        self._left -= spent if self._is_busy() else max(spent, now - self._checked)
        self._checked, self._cpu_time = now, cpu_time
        return min(self._left, self._clock_ends - now)

    def _is_busy(self) -> bool:
        """Return whether one of its threads runs, or is ready to run."""
        if self._process is None:
            return False
        try:
            tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
            return any(_state(task) in BUSY_STATES for task in tasks)
        except OSError:
            return False


def poll_interval(deadline: Deadline) -> float:
    """Return how long to wait before the deadline is checked again. Raises TimeoutError if it has passed."""
    left = deadline.seconds_left
    if left <= 0:
        raise TimeoutError
    return min(MAX_POLL_INTERVAL, max(MIN_POLL_INTERVAL, left))


def read_cpu_time(pid: int | None) -> float:
    """Return the processor seconds of a process with its ended children; 0 if it is not known."""
    try:
        return _cpu_time(None if pid is None else psutil.Process(pid))
    except psutil.Error:
        return 0.0


def _cpu_time(process: psutil.Process | None) -> float:
    """User and system time, with that of ended children."""
    try:
        return float(sum(process.cpu_times()[:4])) if process is not None else 0.0
    except psutil.Error:
        return 0.0


def _state(task: Path) -> str:
    """The letter after the name, which may hold spaces and brackets itself."""
    try:
        return (task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # a thread that has just ended
        return ""


class TimeBudget:
    """The time that one notebook has, in seconds.

    A loss is a cell that timed out or ended its kernel, or a request to an exercise that did. At the second
    loss the time that is left is cut to half of the full time, at the fourth to a quarter, at the sixth to
    an eighth. A notebook with one slow cell keeps its full time.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.ends = float("inf")  # until `start`
        self._clock = clock
        self._lost_cells = self._timed_out_cells = 0
        self._by_exercise = Counter[str]()
        self._stopped_call: Call | None = None

    @property
    def is_used_up(self) -> bool:
        """Return whether no further cell or request may be started."""
        return self._clock() >= self.ends

    @property
    def losses(self) -> int:
        """Return how many cells and requests exceeded a limit."""
        counted = (min(count, MAX_LOSSES_PER_EXERCISE) for count in self._by_exercise.values())
        return self._lost_cells + sum(counted)

    def start(self) -> None:
        """Start the time; a second call changes nothing."""
        if self.ends == float("inf"):
            self.ends = self._clock() + self.seconds

    def deadline(self, pid: int | None, seconds: float) -> Deadline:
        """Return the deadline of a command that may take so many seconds, within the notebook's time."""
        return Deadline(seconds, pid, ends=max(self.ends, self._clock() + MIN_SECONDS))

    def cell_seconds(self, limit: float) -> float:
        """Return the seconds for the next cell: less after each that timed out.

        A student who wrote one endless loop often calls it again in later cells.
        """
        return max(min(MIN_CELL_SECONDS, limit), limit / (1 + self._timed_out_cells))

    def count_cell(self, timed_out: bool = False) -> None:
        """Count a cell that timed out or ended its kernel."""
        self._lost_cells += 1
        self._timed_out_cells += timed_out
        self._shorten()

    def count_reply(self, name: str, calls: Sequence[Call], reply: Reply) -> None:
        """Count a reply of the exercise `name`, if the reply was lost or one of its calls did not end.

        A request is also stopped when its calls take too long together. So a call that was stopped counts
        only if it was the first, or was stopped before.
        """
        stopped = next(
            (
                call
                for call, answer in zip(calls, reply.answers, strict=True)
                if answer.status in ("timeout", "died")
            ),
            None,
        )
        earlier, self._stopped_call = self._stopped_call, stopped
        hangs = stopped is not None and (stopped is calls[0] or stopped is earlier)
        if reply.lost or hangs:
            self._by_exercise[name] += 1
            self._shorten()

    def _shorten(self) -> None:
        halvings = min(self.losses // 2, MAX_HALVINGS)
        if halvings:
            self.ends = min(self.ends, self._clock() + self.seconds / 2**halvings)


@dataclass
class Costs:
    """Seconds by phase and counts, of one notebook or added up over several.

    A phase inside another one is subtracted from the outer one, so that the phases add up to the whole.
    """

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # by phase, by the clock
    # By phase, of the processor, in the thread that grades.
    cpu_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    kernel_cpu_seconds: float = 0.0  # processor seconds of the kernels, whatever the phase
    counts: Counter[str] = field(default_factory=Counter)  # "notebooks", "kernels", "messages", "bytes sent"

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of a `with` block as the phase `name`, less that of the phases inside it."""
        inner, inner_cpu = sum(self.seconds.values()), sum(self.cpu_seconds.values())
        clock, cpu = time.monotonic(), time.thread_time()
        try:
            yield
        finally:
            clock, cpu = time.monotonic() - clock, time.thread_time() - cpu
            self.seconds[name] += clock - (sum(self.seconds.values()) - inner)
            self.cpu_seconds[name] += cpu - (sum(self.cpu_seconds.values()) - inner_cpu)

    def add(self, other: Costs) -> None:
        """Add the costs of another notebook."""
        for name, seconds in other.seconds.items():
            self.seconds[name] += seconds
            self.cpu_seconds[name] += other.cpu_seconds[name]
        self.kernel_cpu_seconds += other.kernel_cpu_seconds
        self.counts.update(other.counts)
