"""Notes which watched calls run while an answer is computed.

The calls note by themselves that they run: in any thread, by any name, whenever they were fetched. What is
not watched costs nothing. Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

Note = Callable[[str], None]
# By the kind of call: "functions" by their module, and what libraries in `WATCHERS` know.
WatchedCalls = Mapping[str, Mapping[str, Sequence[str]]]
# Each watches one kind of calls until its context ends.
WATCHERS: list[Callable[[Note, WatchedCalls], AbstractContextManager[None]]] = []

ANOTHER_THREAD = "another thread"
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Recording:
    """Notes which watched calls run in this process, in any thread, until its context ends."""

    def __init__(self, watched_calls: WatchedCalls) -> None:
        self._ran: set[str] = set()
        self.watched_calls = watched_calls
        self._answering_thread = threading.get_ident()
        self._aside = False
        self._ending = ExitStack()

    def __enter__(self) -> Recording:
        with ExitStack() as begun:
            for watch in WATCHERS if self.watched_calls else ():
                begun.enter_context(watch(self._note, self.watched_calls))
            self._ending = begun.pop_all()
        return self

    def __exit__(self, *details: Any) -> None:
        self._ending.close()

    def taken(self) -> set[str]:
        """Return what has been noted since the last time."""
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

    def _note(self, name: str) -> None:
        # Between answers, too: code of the student's is called by whatever they have left there, such as
        # a collector's callback, and can still fill in what was answered.
        if not self._aside or threading.get_ident() != self._answering_thread:
            self._ran.add(name)


class WatchedFunctions:
    """The Python functions of `watched_calls["functions"]`: qualified names by module.

    The code of a function is exchanged, not a name that it is known by: code that fetched it earlier
    calls what is watched, too. As a finder of modules it also watches those that are imported meanwhile.
    """

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        self._note = note
        self._names = watched_calls.get("functions", {})
        self._own_code: dict[FunctionType, CodeType] = {}
        self._finding: set[str] = set()

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)
        for name in self._names:
            if name in sys.modules:
                self._watch_module(name)

    def __exit__(self, *details: Any) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        while self._own_code:
            function, code = self._own_code.popitem()
            function.__code__ = code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self._names or name in self._finding:
            return None
        self._finding.add(name)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_watch(module: ModuleType) -> None:
                execute(module)
                self._watch_module(name)

            spec.loader.exec_module = execute_and_watch  # type: ignore[method-assign]
        return spec

    def _watch_module(self, name: str) -> None:
        for qualified_name in self._names[name]:
            for function in python_functions(sys.modules[name], qualified_name):
                if function not in self._own_code:
                    self._own_code[function] = function.__code__
                    function.__code__ = _noting_code(function, f"{name}.{qualified_name}", self._note)


WATCHERS.append(WatchedFunctions)


def python_functions(module: ModuleType, qualified_name: str) -> list[FunctionType]:
    """The functions behind a name in a module: itself, and what its decorators and dispatchers wrap."""
    found: Any = module
    for part in qualified_name.split("."):
        # Past whatever a student's own idea of an attribute would run.
        found = vars(found).get(part) if type(found) in (ModuleType, type) else None
    library = str(getattr(module, "__name__", "")).partition(".")[0]
    functions: list[FunctionType] = []
    while isinstance(found, FunctionType) or type(found).__module__.partition(".")[0] == library:
        if found in functions:
            break
        if isinstance(found, FunctionType):
            functions.append(found)
        found = vars(found).get("__wrapped__")
    return functions


def _template(*arguments: Any, **named: Any) -> Any:
    "note".__call__()  # type: ignore[operator]
    return "original".__call__(*arguments, **named)  # type: ignore[operator]


def _noting_code(function: FunctionType, name: str, note: Note) -> CodeType:
    """Code that notes the name and calls the original: constants, because the globals are the library's."""
    code = function.__code__
    original = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    calls: dict[Any, Any] = {"note": lambda: note(name), "original": original}
    return _template.__code__.replace(
        co_consts=tuple(calls.get(constant, constant) for constant in _template.__code__.co_consts),
        co_freevars=code.co_freevars,  # a function keeps as many as it has, such as a method's for `super()`
        # Code that asks for a function's source, as scripting does, gets the original.
        co_name=code.co_name,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


class OtherThreads:
    """The other threads of this process: those that compute, and those that start, until its context ends.

    Memory and products are those of the calling thread and of torch's own threads: the work of another Python
    thread would not be in them.

    Threads of libraries do not count: one sends what is printed, another moves a progress bar. Those of
    thread pools, in the standard library, run a student's functions.
    """

    took_part = False

    def __enter__(self) -> OtherThreads:
        self._profile = threading.getprofile()
        threading.setprofile(self._begins)
        self._computed = _computed_by_others()
        return self

    def __exit__(self, *details: Any) -> None:
        threading.setprofile(self._profile)
        self.took_part = self.took_part or _computed_by_others() != self._computed

    def _begins(self, frame: FrameType, event: str, argument: Any) -> None:
        """Python's report of each call in a new thread, until the first that is not in `threading`."""
        runs_built_in = event == "c_call" and frame.f_code is threading.Thread.run.__code__
        if runs_built_in or (event == "call" and frame.f_code.co_filename != threading.__file__):
            sys.setprofile(None)
            self.took_part = self.took_part or runs_built_in or not _is_of_a_library(frame)


def _computed_by_others() -> dict[int, int]:
    """For each other thread of no library, the nanoseconds that it has computed."""
    return {
        thread: _nanoseconds(thread)
        for thread, frame in sys._current_frames().items()
        if thread != threading.get_ident() and not _is_of_a_library(frame)
    }


def _is_of_a_library(frame: FrameType | None) -> bool:
    """Return whether the function that a thread was started with is a library's."""
    file = ""
    while frame is not None:
        if frame.f_code.co_filename != threading.__file__:
            file = frame.f_code.co_filename
        frame = frame.f_back
    return any(packages in file for packages in _PACKAGES)


def _nanoseconds(thread: int) -> int:
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(thread))
    except (AttributeError, OSError):  # macOS and Windows have no such clock; a thread that has ended, none
        return 0
