"""Notes that a Python function runs: in any thread, by any name, whenever it was fetched.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`. Nothing here belongs to a thread:
functions note by themselves that they run. So what is not watched costs nothing.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

Note = Callable[[str], None]
# What is watched, by the watcher that knows how: "functions" by their module, and what `WATCHERS` know.
WatchedCalls = Mapping[str, Mapping[str, Sequence[str]]]


class Watcher:
    """Notes some of what runs while an answer is computed."""

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        self.note = note

    def start(self) -> None:
        """Before the first answer."""

    def stop(self) -> None:
        """After the last, whatever became of it."""

    def begin(self) -> None:
        """Before each answer."""

    def end(self, differentiating: bool) -> None:
        """After each; `differentiating` where the judge itself went backwards through it."""


# Those of the libraries whose steps are not Python functions, such as torch's.
WATCHERS: list[type[Watcher]] = []


class ExchangedCode:
    """Functions whose code notes that it runs, and then does what it always does.

    The code of a function is exchanged, not a name that it is known by: code that fetched it earlier
    calls what is watched, too.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._own_code: dict[FunctionType, CodeType] = {}

    def __contains__(self, function: FunctionType) -> bool:
        return function in self._own_code

    def exchange(self, function: FunctionType, names: list[str]) -> None:
        template = TEMPLATES.get(len(function.__code__.co_freevars))
        if template is None or function in self._own_code:
            return
        self._own_code[function] = function.__code__
        function.__code__ = _noting_code(function, names, template, self._note)

    def give_back(self) -> None:
        while self._own_code:
            function, code = self._own_code.popitem()
            function.__code__ = code


class WatchedFunctions(Watcher):
    """The functions of `watched_calls["functions"]`: qualified names by module."""

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        super().__init__(note, watched_calls)
        self._names = watched_calls.get("functions", {})
        self._exchanged = ExchangedCode(note)
        self._finding: set[str] = set()

    def start(self) -> None:
        sys.meta_path.insert(0, self)
        for name in self._names:
            if name in sys.modules:
                self._watch_module(name)

    def stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._exchanged.give_back()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """As Python's finders, for modules that are imported while they are watched."""
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
                self._exchanged.exchange(function, [f"{name}.{qualified_name}"])


def python_functions(module: ModuleType, qualified_name: str) -> list[FunctionType]:
    """The functions behind a name in a module: itself, and what its decorators and dispatchers wrap."""
    found: Any = module
    for part in qualified_name.split("."):
        found = attribute(found, part)
    library = str(getattr(module, "__name__", "")).partition(".")[0]
    functions: list[FunctionType] = []
    while isinstance(found, FunctionType) or type(found).__module__.partition(".")[0] == library:
        if found in functions:
            break
        if isinstance(found, FunctionType):
            functions.append(found)
        found = vars(found).get("__wrapped__") or vars(found).get("_init_fn")
    return functions


def attribute(owner: Any, name: str) -> Any:
    """An attribute of a module or a class, past whatever a student's own idea of one would run."""
    return vars(owner).get(name) if type(owner) in (ModuleType, type) else None


def _template(*arguments: Any, **named: Any) -> Any:
    "note".__call__()  # type: ignore[operator]
    return "original".__call__(*arguments, **named)  # type: ignore[operator]


def _template_of_a_method() -> CodeType:
    variable = None

    def template(*arguments: Any, **named: Any) -> Any:
        nonlocal variable
        "note".__call__()  # type: ignore[operator]
        return "original".__call__(*arguments, **named)  # type: ignore[operator]

    return template.__code__


# By the number of free variables, which a function's new code must have as its old one had: a method
# that calls `super()` has one. Their texts are exchanged for what is called.
TEMPLATES = {0: _template.__code__, 1: _template_of_a_method()}


def _noting_code(function: FunctionType, names: list[str], template: CodeType, note: Note) -> CodeType:
    code = function.__code__
    original = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__

    def note_all() -> None:
        for name in names:
            note(name)

    calls: dict[Any, Any] = {"note": note_all, "original": original}
    return template.replace(
        co_consts=tuple(calls.get(constant, constant) for constant in template.co_consts),
        # Code that asks for a function's source, as scripting does, gets the original.
        co_name=code.co_name,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )
