"""Which watched calls run while an answer is computed, and whether other processes take part in it.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Any

from nbjudge.probe.compiled import (
    COMPILERS,
    FOREIGN_CODE,
    FOREIGN_EVENTS,
    ForeignFunctions,
    used_by_a_library,
)
from nbjudge.probe.processes import OtherProcesses
from nbjudge.probe.threads import OtherThreads
from nbjudge.probe.watching import WATCHERS, WatchedCalls, WatchedFunctions, Watcher

ANOTHER_PROCESS = "another process"
# Before code that a compiler wrote, which is named after the steps that it was made from.
COMPILED = "compiled: "

# Python's own reports of what leads out of this process.
LEADS_OUT = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
    "socket.connect",
    "subprocess.Popen",
}
LISTEN = "nbjudge.listen"


class Recording:
    """Notes which watched calls run in this process, in any thread, while an answer is computed."""

    def __init__(self, watched_calls: WatchedCalls) -> None:
        self._ran: set[str] = set()
        self._answering_thread = threading.get_ident()
        self._aside = self._compiling = False
        kinds: list[type[Watcher]] = [*WATCHERS, WatchedFunctions]
        self._foreign = ForeignFunctions(self._note, watched_calls)
        self._watchers = [*(kind(self._note, watched_calls) for kind in kinds), self._foreign]
        self._processes = OtherProcesses()
        self._ending = ExitStack()

    def __enter__(self) -> Recording:
        with ExitStack() as begun:
            begun.callback(self._processes.let_go)
            for watcher in self._watchers:
                begun.callback(watcher.stop)
                watcher.start()
            begun.callback(_listen, None)
            _listen(self)
            self._ending = begun.pop_all()
        return self

    def __exit__(self, *details: Any) -> None:
        self._ending.close()

    def answering(self, differentiating: bool = False) -> AbstractContextManager[Any]:
        """While the student's code answers; with `differentiating` in a backward pass of the judge's."""
        return _AnswerContext(self, differentiating)

    def other_threads(self) -> OtherThreads:
        """What tells whether they take part in a call that is measured from now on."""
        return OtherThreads()

    def taken(self) -> set[str]:
        """What has been noted since the last time."""
        ran, self._ran = self._ran, set()
        return ran

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While this thread makes what the judge asks with: that may use anything."""
        self._aside = True
        try:
            yield
        finally:
            self._aside = False

    def begin(self) -> None:
        self._compiling = False
        for watcher in self._watchers:
            watcher.begin()

    def end(self, differentiating: bool) -> None:
        for watcher in self._watchers:
            watcher.end(differentiating)
        if self._processes.took_part() and not self._compiling:
            self._ran.add(ANOTHER_PROCESS)

    def hear(self, event: str) -> None:
        """What Python reports, in any thread, before it does it."""
        if event in FOREIGN_EVENTS:
            if not used_by_a_library():
                self._note(FOREIGN_CODE)
            self._foreign.begin()
        if event not in LEADS_OUT:
            return
        if event == "subprocess.Popen" and _compiles():
            self._compiling = True
        elif event != "socket.connect" or threading.get_ident() == self._answering_thread:
            self._note(ANOTHER_PROCESS)

    def _note(self, name: str) -> None:
        # Between answers, too: code of the student's is called by whatever they have left there, such as
        # a collector's callback, and can still fill in what was answered.
        if not self._aside or threading.get_ident() != self._answering_thread:
            self._ran.add(name)


class _AnswerContext:
    def __init__(self, recording: Recording, differentiating: bool) -> None:
        self._recording, self._differentiating = recording, differentiating

    def __enter__(self) -> None:
        self._recording.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording.end(self._differentiating)


def _compiles() -> bool:
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if str(frame.f_globals.get("__name__")).startswith(COMPILERS):
            return True
    return False


def _listen(recording: Recording | None) -> None:
    """Have Python report to this recording, or to none.

    What was once told to report does so for the life of the process. So there is one listener, which
    no other code knows and that is reached by a report of our own.
    """
    heard: list[bool] = []
    sys.audit(LISTEN, recording, heard)
    if heard or recording is None:
        return
    reports_to: list[Recording | None] = [recording]

    def listener(event: str, arguments: tuple[Any, ...]) -> None:
        if event == LISTEN:
            reports_to[0] = arguments[0]
            arguments[1].append(True)
        elif reports_to[0] is not None:
            reports_to[0].hear(event)

    sys.addaudithook(listener)
