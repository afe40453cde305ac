"""What a kernel is charged for, and what is left of a notebook's time."""

from __future__ import annotations

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


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def budget(clock):
    budget = TimeBudget(300, clock)
    budget.start()
    return budget


def reply(*statuses, lost=False):
    return Reply([Answer(status) for status in statuses], lost)


def test_each_second_loss_halves_what_is_left(budget, clock):
    """A notebook that exceeded limits twice does not get its full time again."""
    left = []
    for _ in range(8):
        budget.count_cell()
        left.append(budget.ends - clock.now)
    assert left == [300, 150, 150, 75, 75, 37.5, 37.5, 37.5]


def test_a_loss_gives_no_time_back(budget, clock):
    """Nor does a second start."""
    clock.now += 100
    budget.start()
    assert budget.ends == 1300
    clock.now += 190
    for _ in range(8):
        budget.count_cell()
    assert budget.ends == 1300
    clock.now += 10
    assert budget.is_used_up


def test_one_exercise_is_two_losses_at_most(budget, clock):
    for _ in range(10):
        budget.count_reply("loops", CALLS, reply("timeout", "timeout", "timeout"))
    assert (budget.losses, budget.ends - clock.now) == (2, 150)
    budget.count_reply("dies", CALLS, reply("died", "died", "died", lost=True))
    budget.count_reply("dies", CALLS, reply("unreadable", "unreadable", "unreadable", lost=True))
    assert (budget.losses, budget.ends - clock.now) == (4, 75)


def test_slow_answers_that_come_are_not_losses(budget):
    budget.count_cell()
    for _ in range(3):  # each time there was no time for the last call, and then it was answered
        budget.count_reply("slow", CALLS, reply("value", "value", "timeout"))
        budget.count_reply("slow", CALLS[2:], reply("raised"))
    assert (budget.losses, budget.ends) == (1, 1300)


def test_a_call_that_is_stopped_twice_is_a_loss(budget):
    budget.count_reply("hangs", CALLS, reply("value", "value", "timeout"))
    assert budget.losses == 0
    budget.count_reply("hangs", CALLS[1:], reply("value", "timeout"))
    assert budget.losses == 1
