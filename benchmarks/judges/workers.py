"""Run code that is not trusted in a child process, with a time limit.

The child is forked, so that an answer costs a fork and not an import of torch. A fork with limits is no
sandbox: the code can read and write what the user can.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import resource
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

SECONDS = 60.0  # for one answer, by the clock
MEMORY = 8 * 2**30  # bytes of addresses


class WorkerError(Exception):
    """A child process raised an error, ended without a result, or exceeded its time limit."""


class ChildError(WorkerError):
    """The function that ran in a child process raised an error; `place` is the file and the line."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.place = place


def temporary_folder() -> Path:
    """A new folder that is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="judges-benchmark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def run_in_child(function: Callable[..., Any], *args: Any, seconds: float = SECONDS) -> Any:
    """Call a function in a forked child and return its result, within `seconds` by the clock.

    The function may be a lambda. Its result must be picklable, and is made by our own code, never by the
    answer. What the code prints is hidden. The child and its children are killed afterwards.

    Raises WorkerError with one sentence that says why there is no result, a ChildError if the function raised
    an error, and TypeError if it returns a tensor.
    """
    context = multiprocessing.get_context("fork")
    parent_end, child_end = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(child_end, function, args), daemon=True)
    child.start()
    child_end.close()
    try:
        if not parent_end.poll(seconds):
            raise WorkerError(f"There was no result after {seconds:g} seconds.")
        succeeded, result = pickle.loads(parent_end.recv_bytes())
    except (EOFError, OSError):
        raise WorkerError("The process ended without a result.") from None
    finally:
        child.kill()
        child.join()
        parent_end.close()
    if not succeeded:
        raise ChildError(*result)
    if isinstance(result, torch.Tensor):
        raise TypeError(f"{function.__name__} returned a tensor from the child: return a text or a number.")
    return result


def line_of(error: BaseException) -> str:
    """The file and the line that raised an error."""
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    return f"{Path(frame.f_code.co_filename).name}, line {line}"


def _run(connection: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """In the child: silence, limits, one call."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch.set_num_threads(1)  # torch's threads are not forked along: an operator would wait for them for ever
    try:
        # By value: what `connection.send` makes of a tensor refers to memory that is gone with this process.
        outcome = pickle.dumps((True, function(*args)))
    except BaseException as error:
        outcome = pickle.dumps((False, (f"{type(error).__name__}: {error}"[:500], line_of(error))))
    connection.send_bytes(outcome)
    connection.close()
    os._exit(0)
