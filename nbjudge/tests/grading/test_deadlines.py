"""What a kernel is charged for: sleep by the clock, work by the processor, a queue not at all."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from nbjudge.kernel.timing import WALL_CLOCK_FACTOR, Deadline

pytestmark = pytest.mark.integration

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

Run = Callable[[str], int]


@pytest.fixture
def run() -> Iterator[Run]:
    """Run a program on one processor with the others; its process id."""
    with ExitStack() as running:

        def begin(program: str) -> int:
            process = subprocess.Popen(
                [sys.executable, "-S", "-c", program],
                preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
            )
            running.callback(process.wait)
            running.callback(process.kill)
            return process.pid

        yield begin


def charged(pid: int, by_the_clock: float) -> float:
    """The part of a while that is charged."""
    patience = Deadline(SECONDS, pid)
    ends = time.monotonic() + by_the_clock
    while time.monotonic() < ends and patience.seconds_left > 0:
        time.sleep(0.02)
    return (SECONDS - patience.seconds_left) / by_the_clock


def settled(pid: int) -> int:
    """The process, once its interpreter has begun the program."""
    time.sleep(1.5)
    return pid


def test_a_kernel_that_sleeps_is_charged_by_the_clock(run):
    assert charged(settled(run(ASLEEP)), 1) > 0.9


def test_a_kernel_that_waits_for_a_processor_is_charged_for_its_work(run):
    for _ in range(NEIGHBOURS):
        run(BUSY)
    assert charged(settled(run(BUSY)), 3) < 0.5


def test_a_kernel_that_waits_for_its_own_thread_is_at_work(run):
    for _ in range(NEIGHBOURS):
        run(BUSY)
    assert charged(settled(run(WORKS_IN_A_THREAD)), 3) < 0.5


def test_the_clock_ends_it_in_any_case(run):
    for _ in range(NEIGHBOURS):
        run(BUSY)
    patience, began = Deadline(0.5, settled(run(BUSY))), time.monotonic()
    while patience.seconds_left > 0:
        time.sleep(0.01)
    assert time.monotonic() - began < WALL_CLOCK_FACTOR * 0.5 + 0.5


def test_a_process_that_is_gone_is_charged_by_the_clock():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert charged(gone.pid, 0.3) > 0.9
