"""Whether other processes take part in an answer: those it starts, and those that were waiting for it.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows, where a learner's kernel may run; student code is graded on Linux only
    resource = None  # type: ignore[assignment]

WATCHED_BEFORE = 0.1  # seconds, spent only where there are other processes
CHECK_INTERVAL = 0.002  # seconds between checks, because a signal takes a while on a busy machine
MOST_CHECKS = 250
OF_ALL_KINDS = 0x40000000  # of <sys/wait.h>: children too that were started without a signal for their end
FIRST_PROCESS = 1  # in the sandbox a kernel is the first of its namespace: it sees all, and all are its own


class OtherProcesses:
    """The processes that this one has started, and their children.

    One that sleeps and wakes up while an answer is computed was woken by it. One that is busy by
    itself proves nothing, so it is stopped meanwhile: whatever it does, it takes no part.
    """

    def __init__(self) -> None:
        self._times_run = _times_run()
        self._held: list[int] = []
        self._unjudged: set[int] = set()
        if os.getpid() != FIRST_PROCESS:
            self._unjudged.update(self._times_run)
        elif self._times_run:
            self._still_the_busy()
        self._waited_for = _work_of_ended_children()

    def took_part(self) -> bool:
        """Whether one has run, or has been started, since this was last asked."""
        before, now = self._times_run, _times_run()
        waited_for_before, self._waited_for = self._waited_for, _work_of_ended_children()
        self._times_run = now
        gone = before.keys() - now.keys()
        ran = {
            pid
            for pid in (before.keys() | now.keys()) - self._unjudged
            if (before.get(pid) != now.get(pid) or now.get(pid) == RUNNING) and before.get(pid) != ENDED
        }
        # One that came and went is known by what it used; so is one that had ended long before, and was
        # only now waited for.
        return bool(ran) or (waited_for_before != self._waited_for and not gone)

    def let_go(self) -> None:
        """Continue the processes that were stopped."""
        while self._held:
            with suppress(OSError):
                os.kill(self._held.pop(), signal.SIGCONT)

    def _still_the_busy(self) -> None:
        time.sleep(WATCHED_BEFORE)
        now = _times_run()
        busy = [pid for pid in now if now[pid] != self._times_run.get(pid) or now[pid] == RUNNING]
        self._times_run = now
        for pid in busy:
            with suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
                self._held.append(pid)
        for _ in range(MOST_CHECKS if busy else 0):
            time.sleep(CHECK_INTERVAL)
            before, self._times_run = self._times_run, _times_run()
            if before == self._times_run and RUNNING not in before.values():
                return


ENDED, RUNNING = -1, -2


def _times_run() -> dict[int, int]:
    """For each process below this one: how often it was given a processor, ENDED, or RUNNING now."""
    if not _has_children():
        return {}
    found: dict[int, int] = {}
    parents = [os.getpid()]
    while parents:
        for child in _children_of(parents.pop()):
            if child not in found:
                found[child] = _times_run_by(child)
                parents.append(child)
    return found


def _has_children() -> bool:
    """A cheap check; those that have ended and were not waited for count."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | OF_ALL_KINDS)
    except (ChildProcessError, AttributeError):  # none, or a system that cannot say
        return False
    return True


def _children_of(pid: int) -> list[int]:
    return [int(child) for thread in _texts(f"/proc/{pid}/task", "children") for child in thread.split()]


def _times_run_by(pid: int) -> int:
    total = 0
    for status in _texts(f"/proc/{pid}/task", "status"):
        lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        if lines["State"].startswith(("Z", "X")):
            return ENDED
        if lines["State"].startswith("R"):
            return RUNNING
        total += int(lines["voluntary_ctxt_switches"]) + int(lines["nonvoluntary_ctxt_switches"])
    return total


def _texts(folder: str, name: str) -> list[str]:
    """The file of this name for each thread; those that end meanwhile have none."""
    texts = []
    with suppress(OSError):
        for thread in os.listdir(folder):
            with suppress(OSError):
                texts.append(Path(folder, thread, name).read_text())
    return texts


def _work_of_ended_children() -> Any:
    return resource.getrusage(resource.RUSAGE_CHILDREN) if resource else None
