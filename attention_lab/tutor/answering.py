"""Makes the calls of a tutor's request in this kernel: within a time, and without what the answer prints."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Literal

SECONDS = 20.0  # for all calls of one question
PATIENCE = 2.0  # seconds until an answer that goes on is interrupted again
CHATTY = 20_000  # printed characters that are worth a word
# torch loads it, and sympy, with its first gradient; an import interrupted half way stays broken.
LOADED_LATE = "torch.fx.experimental.symbolic_shapes"


@dataclass
class CallOutcome:
    """What came of a question: the text to send back, or why there is none; and what else was noticed."""

    text: str | None = None
    lost: Literal["", "timeout", "died"] = ""
    notes: list[str] = field(default_factory=list)


def answer(work: Callable[[], str], seconds: float = SECONDS) -> CallOutcome:
    """Have `work` answer a question. An answer that does not end is interrupted.

    Raises KeyboardInterrupt where the learner does that.
    """
    load_ahead()
    import torch  # `load_ahead` has loaded it; a command that makes no call starts without it

    gradients_on = torch.is_grad_enabled()
    threads, printed = set(threading.enumerate()), _Counter()
    result = CallOutcome()
    quiet = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with quiet[0], quiet[1], _deadline(seconds) as clock:
        try:
            result.text = _call(work)
        except KeyboardInterrupt:
            if not clock.fired:
                raise
            result.lost = "timeout"
        finally:
            # An interrupt can hit the end of a `with torch.no_grad()`, and the kernel would stay without.
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
    importlib.import_module(LOADED_LATE)
    if source:
        _compiled(source)


def respond(source: str, request: str, names: dict[str, Any]) -> str:
    """Answer a request with the tutor's program, which is loaded again for each: it remembers nothing.

    Parameters
    ----------
    source
        The program. It comes from this machine's own tutor, or with the signature of the class's.
    request
        The packed calls; the program reads them within bounds.
    names
        The names of the notebook, among them the answer.

    Returns
    -------
    str
        The packed results.
    """
    space: dict[str, Any] = {"__name__": "nbjudge_respond", "__file__": "<nbjudge>"}
    exec(_compiled(source), space)
    result: str = space["respond"](request, names)
    return result


@lru_cache(maxsize=2)
def _compiled(source: str) -> CodeType:
    return compile(source, "<nbjudge>", "exec", dont_inherit=True)


class _Counter(io.TextIOBase):
    """Where prints go meanwhile: they are counted, and gone."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, text: str) -> int:
        self.count += len(text)
        return len(text)


@dataclass
class _Clock:
    fired: bool = False


def _interrupt_main_thread() -> None:
    """Raise KeyboardInterrupt in the main thread, also where it sleeps or waits for a lock."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:  # on Windows every thread's signal ends the main thread's waiting
        signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[_Clock]:
    """Interrupts the answer after that time, and again, until it is left."""
    clock, done = _Clock(), threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield clock
        return

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            clock.fired, wait = True, PATIENCE
            _interrupt_main_thread()

    def interrupt(_number: int, frame: FrameType | None) -> None:
        # One that arrives before the answer begins, or when it has ended, is meant for no one.
        if _is_within_the_call(frame) or not clock.fired:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    watcher = threading.Thread(target=watch, daemon=True)
    try:
        watcher.start()
        yield clock
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
