"""Makes the calls of a tutor's request in this kernel: within a time, and without what the answer prints."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Literal

SECONDS = 20.0  # for all calls of one request
PATIENCE = 2.0  # seconds until an answer that goes on is interrupted again
CHATTY = 20_000  # printed characters that are worth a word
# torch loads it, and sympy, with its first gradient; an import interrupted half way stays broken.
LOADED_LATE = "torch.fx.experimental.symbolic_shapes"


@dataclass
class CallOutcome:
    """The result of a request: the text to send back, or why there is none; and what else was noticed."""

    text: str | None = None
    lost: Literal["", "timeout", "died"] = ""
    notes: list[str] = field(default_factory=list)


def answer(work: Callable[[], str], seconds: float = SECONDS) -> CallOutcome:
    """Have `work` answer a request. An answer that does not end is interrupted.

    Raises KeyboardInterrupt where the learner does that.
    """
    load_ahead()
    torch = sys.modules.get("torch")  # where the notebook does not use it, neither does its answer
    gradients_on = torch.is_grad_enabled() if torch else True
    threads, printed = set(threading.enumerate()), _Counter()
    result = CallOutcome()
    quiet = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with quiet[0], quiet[1], _deadline(seconds) as is_over:
        try:
            result.text = _call(work)
        except KeyboardInterrupt:
            if not is_over.is_set():
                raise
            result.lost = "timeout"
        finally:
            if torch:  # an interrupt can hit the end of a `with torch.no_grad()`, and all would stay without
                torch.set_grad_enabled(gradients_on)
    if printed.count > CHATTY:
        result.notes.append(
            f"Your answer printed {printed.count:,} characters meanwhile; they are not shown."
        )
    left = [thread for thread in threading.enumerate() if thread not in threads and not thread.daemon]
    if left:
        result.notes.append(
            f"Your answer left {len(left)} {'thread' if len(left) == 1 else 'threads'} running: restart the "
            "kernel when it becomes slow."
        )
    return result


def load_ahead(source: str = "") -> None:
    """Compile the program, and import what torch imports with its first gradient.

    An answer must not be interrupted in that import.
    """
    if "torch" in sys.modules:
        importlib.import_module(LOADED_LATE)
    if source:
        _compiled(source)


def respond(source: str, request: str, names: dict[str, Any]) -> str:
    """Return the packed results of a request's calls on the names of the notebook.

    The tutor's program `source` makes them. It comes from this machine's own tutor, or with the signature of
    the class's, and is loaded again for each request, so it remembers nothing.
    """
    result: str = names_of(source)["respond"](request, names)
    return result


def names_of(source: str) -> dict[str, Any]:
    """Return what the tutor's program defines: among it `pack`, which packs values for a message."""
    space: dict[str, Any] = {"__name__": "nbjudge_respond", "__file__": "<nbjudge>"}
    exec(_compiled(source), space)
    return space


@lru_cache(maxsize=2)
def _compiled(source: str) -> CodeType:
    return compile(source, "<nbjudge>", "exec", dont_inherit=True)


class _Counter(io.TextIOBase):
    """Counts what an answer prints, and keeps nothing of it."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, text: str) -> int:
        self.count += len(text)
        return len(text)


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[threading.Event]:
    """Interrupt the answer after that time, and again, until it is left; yields whether the time is up."""
    is_over, done = threading.Event(), threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield is_over
        return

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            is_over.set()
            wait = PATIENCE
            # The main thread may sleep, or wait for a lock.
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:  # on Windows every thread's signal ends the main thread's waiting
                signal.raise_signal(signal.SIGINT)

    def interrupt(_number: int, frame: FrameType | None) -> None:
        # One that arrives before the answer begins, or when it has ended, is meant for no one.
        if _is_within_the_call(frame) or not is_over.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    watcher = threading.Thread(target=watch, daemon=True)
    try:
        watcher.start()
        yield is_over
    finally:
        done.set()
        if watcher.is_alive():
            watcher.join()
        signal.signal(signal.SIGINT, before)


def _call(work: Callable[[], str]) -> str:
    """Make the call that may be interrupted, in a frame by which `_deadline` knows it."""
    return work()


def _is_within_the_call(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not _call.__code__:
        frame = frame.f_back
    return frame is not None
