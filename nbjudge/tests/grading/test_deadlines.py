"""What a kernel is charged for, and what is left of a notebook's time."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from nbjudge.calls import Answer, Reply
from nbjudge.kernel.timing import WALL_CLOCK_FACTOR, Deadline, TimeBudget

BUSY = "while True: pass"
ASLEEP = "import time; time.sleep(600)"
WORKS_IN_A_THREAD = f"""
import threading
thread = threading.Thread(target=exec, args=({BUSY!r},))
thread.start()
thread.join()
"""
SECONDS = 60.0
NEIGHBOURS = 5
CALLS = [{"args": [number]} for number in range(3)]


@pytest.fixture
def run() -> Iterator[Callable[..., int]]:
    """Run a program on one processor, beside others; its process id once it has begun."""
    with ExitStack() as running:

        def begin(*programs: str) -> int:
            for program in programs:
                process = subprocess.Popen(
                    [sys.executable, "-S", "-c", program],
                    preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
                )
                running.callback(process.wait)
                running.callback(process.kill)
            time.sleep(1.5)
            return process.pid

        yield begin


def charged(pid: int, by_the_clock: float) -> float:
    """The part of a while that is charged."""
    patience = Deadline(SECONDS, pid)
    ends = time.monotonic() + by_the_clock
    while time.monotonic() < ends and patience.seconds_left > 0:
        time.sleep(0.02)
    return (SECONDS - patience.seconds_left) / by_the_clock


@pytest.mark.integration
@pytest.mark.parametrize("program", [BUSY, WORKS_IN_A_THREAD], ids=["alone", "in a thread"])
def test_a_kernel_that_waits_is_charged_for_its_work(run, program):
    """It waits for a processor; one that waits for its own thread is at work."""
    assert charged(run(*[BUSY] * NEIGHBOURS, program), 3) < 0.5


@pytest.mark.integration
def test_the_clock_ends_it_in_any_case(run):
    patience, began = Deadline(0.5, run(*[BUSY] * (NEIGHBOURS + 1))), time.monotonic()
    while patience.seconds_left > 0:
        time.sleep(0.01)
    assert time.monotonic() - began < WALL_CLOCK_FACTOR * 0.5 + 0.5


@pytest.mark.integration
def test_a_sleeping_kernel_is_charged_by_the_clock(run):
    assert charged(run(ASLEEP), 1) > 0.9
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert charged(gone.pid, 0.3) > 0.9


def test_each_second_loss_halves_what_is_left():
    """A notebook that exceeded limits twice does not get its full time again; no loss gives time back."""
    now = [1000.0]
    budget = TimeBudget(300, lambda: now[0])
    budget.start()
    left = []
    for _ in range(8):
        budget.count_cell()
        left.append(budget.ends - now[0])
    assert left == [300, 150, 150, 75, 75, 37.5, 37.5, 37.5]
    now[0] += 30
    budget.start()
    for _ in range(8):
        budget.count_cell()
    assert budget.ends == 1037.5 and not budget.is_used_up
    now[0] += 7.5
    assert budget.is_used_up


ALL_LATE, ALL_DEAD = ("loops", 0, ["timeout"] * 3, False), ("dies", 0, ["died"] * 3, True)
# There was no time for the last call, and then it was answered.
SLOW = [("slow", 0, ["value", "value", "timeout"], False), ("slow", 2, ["raised"], False)]


@pytest.mark.parametrize(
    ("replies", "losses", "left"),
    [
        ([ALL_LATE] * 10, 2, 150),  # one exercise is two losses at most
        ([*[ALL_LATE] * 10, ALL_DEAD, ("dies", 0, ["unreadable"] * 3, True)], 4, 75),
        (SLOW * 3, 0, 300),
        (SLOW[:1], 0, 300),
        ([*SLOW[:1], ("slow", 1, ["value", "timeout"], False)], 1, 300),  # a call that is stopped twice
    ],
)
def test_losses_are_counted_by_exercise(replies, losses, left):
    """Slow answers that come are none."""
    budget = TimeBudget(300, lambda: 1000.0)
    budget.start()
    for name, first, statuses, lost in replies:
        budget.count_reply(name, CALLS[first:], Reply([Answer(status) for status in statuses], lost))
    assert (budget.losses, budget.ends) == (losses, 1000 + left)
