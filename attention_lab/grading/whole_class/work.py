"""The worker's end: a parcel and a unit come in, a graded notebook goes back."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType

import torch

from attention_lab.grading.sandbox.warm_interpreter import warm_interpreter
from attention_lab.grading.unit import Done, Unit, do
from attention_lab.grading.whole_class.parcel import Parcel, opened

PATIENCE = 3  # seconds in which it cleans up
_one_at_a_time = threading.Lock()  # a process has one warm interpreter


def work(parcel: Parcel, unit: Unit) -> Done:
    """Grade one notebook. Raises NoKernelStarts where the sandbox gives no kernel to anybody."""
    with _one_at_a_time:
        # One thread in every worker: they share the cores, and sums come out the same everywhere.
        torch.set_num_threads(1)
        return do(unit, opened(parcel, unit.lesson))


def begin(log: Path, warm: tuple[str, ...] | None) -> None:
    """What a process of the pool does first: it ends when it is told to, or when nobody is left to tell.

    Whatever is printed goes to the log. `warm` are the modules of the sandbox, which begins to warm up.
    """
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(said, sys.stdout.fileno())
    os.dup2(said, sys.stderr.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the coordinator's to answer
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if warm is not None:
        warm_interpreter(warm)


def _end(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit  # so that folders and sandboxes are cleaned up on the way out


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    # The pool takes the first for a notebook that failed, and waits for the next.
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PATIENCE)
    os.kill(os.getpid(), signal.SIGKILL)
