"""Notes that a ready-made step runs: in any thread, by any name, whatever modes are on or off.

Part of what runs in the student's kernel, see `respond`. Nothing here belongs to a thread: torch's
kernels and Python's functions note by themselves that they run. So what is not watched costs nothing.
"""

import importlib.util
import sys
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch
from torch._library.custom_ops import CustomOpDef

from nbjudge.ask.program.ready_made import COMPILED, FUNCTIONS, OPERATORS

Note = Callable[[str], None]


class WatchedOperators:
    """Operators whose kernels note that they run, and then do what they always do.

    This is where all that torch computes comes by: from Python, from C++, from scripted code, from
    below modes and subclasses, in threads of every kind.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._libraries: list[Any] = []

    def start(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that its kernels are replaced
            for space in ("aten", "quantized"):
                library = torch._C._dispatch_library("IMPL", space, "", "<nbjudge>", 1)
                self._libraries.append(library)
                for family in OPERATORS.values():
                    for operator, keys in family.items():
                        if operator.startswith(space):
                            self._watch(library, operator, keys)

    def stop(self) -> None:
        while self._libraries:
            self._libraries.pop().reset()

    def _watch(self, library: Any, operator: str, keys: tuple[str, ...]) -> None:
        for key in keys:
            if torch._C._dispatch_has_computed_kernel_for_dispatch_key(operator, key):
                code = torch._C._dispatch_key_parse(key)
                kernel = torch._C._dispatch_get_computed_kernel_for_dispatch_key(operator, code)
                library.impl(operator, key, _noting_kernel(operator, kernel, self._note), True)


def _noting_kernel(operator: str, kernel: Any, note: Note) -> Callable[..., Any]:
    def noting(keys: Any, *arguments: Any, **named: Any) -> Any:
        note(operator)
        return kernel.call_boxed(keys, *arguments, **named)

    return noting


class WatchedFunctions:
    """Functions whose code notes that it runs, and then does what it always does.

    The code of a function is exchanged, not a name that it is known by: whoever fetched it earlier
    calls what is watched, too.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._own_code: dict[FunctionType, CodeType] = {}
        self._finding: set[str] = set()
        self._names: dict[str, list[str]] = {}
        for family in FUNCTIONS.values():
            for module, names in family.items():
                self._names.setdefault(module, []).extend(names)

    def start(self) -> None:
        sys.meta_path.insert(0, self)
        for name in self._names:
            if name in sys.modules:
                self._watch_module(name)
        self._watch_compiled(note=False)

    def stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        while self._own_code:
            function, code = self._own_code.popitem()
            function.__code__ = code

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
            found: Any = sys.modules[name]
            for part in qualified_name.split("."):
                found = _attribute(found, part)
            while isinstance(found, (FunctionType, CustomOpDef)):  # and what its decorators wrap
                if isinstance(found, FunctionType):
                    self._watch(found, [f"{name}.{qualified_name}"])
                found = vars(found).get("__wrapped__") or vars(found).get("_init_fn")

    def look_for_compiled(self) -> None:
        """Watch what torch.compile has written since the last time; whoever had it written also runs it."""
        self._watch_compiled(note=True)

    def _watch_compiled(self, note: bool) -> None:
        cache = _attribute(sys.modules.get("torch._inductor.codecache"), "PyCodeCache")
        for module in list(_attribute(cache, "modules") or ()):
            function = _attribute(_attribute(module, "Runner"), "call")
            if isinstance(function, FunctionType) and function not in self._own_code:
                names = [COMPILED + name for name in function.__code__.co_names if "_fused_" in name]
                self._watch(function, names)
                for name in names if note else ():
                    self._note(name)

    def _watch(self, function: FunctionType, names: list[str]) -> None:
        template = TEMPLATES.get(len(function.__code__.co_freevars))
        if template is None or function in self._own_code:
            return
        self._own_code[function] = function.__code__
        function.__code__ = _noting_code(function, names, template, self._note)


def _attribute(owner: Any, name: str) -> Any:
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
        # Whoever asks for a function's source, as scripting does, is shown its own.
        co_name=code.co_name,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


class BackwardPasses:
    """How many backward passes this process has run: torch numbers them all, whoever starts them."""

    def __init__(self) -> None:
        self._number = 0
        with torch.inference_mode(False), torch.enable_grad():
            self._leaf = torch.zeros(1, device="cpu", requires_grad=True)
            self._end = self._leaf.view(1)
        self._end.register_hook(self._read)
        self._one = torch.ones(1, device="cpu")
        self._engine: Any = torch.autograd.Variable._execution_engine

    def count(self) -> int:
        """The number of one more, run for the purpose."""
        # `torch.autograd.grad` imports much when it is first called; what is counted is the same.
        self._engine.run_backward(
            (self._end,),
            (self._one,),
            True,
            False,
            (self._leaf,),
            allow_unreachable=True,
            accumulate_grad=False,
        )
        return self._number

    def _read(self, gradient: torch.Tensor) -> None:
        self._number = torch._C._current_graph_task_id()
