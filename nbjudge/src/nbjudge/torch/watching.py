"""Notes that torch computes: its operators, what torch.compile wrote, and every backward pass.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import torch

from nbjudge.probe.recording import COMPILED
from nbjudge.probe.watching import WATCHERS, ExchangedCode, Note, WatchedCalls, Watcher, attribute

CALLED = " (called)"  # behind an operator that ran outside of every backward pass
BACKWARD_PASS = "a backward pass"  # started by Python, C++ or scripted code


class WatchedOperators(Watcher):
    """Operators whose kernels note that they run, and then do what they always do.

    This is where all that torch computes comes by: from Python, from C++, from scripted code, from
    below modes and subclasses, in threads of every kind.
    """

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        super().__init__(note, watched_calls)
        self._always = watched_calls.get("operators", {})
        self._called = watched_calls.get("called_operators", {})
        self._operators = {**self._called, **self._always}
        self._libraries: list[Any] = []

    def start(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that its kernels are replaced
            for space in sorted({operator.partition("::")[0] for operator in self._operators}):
                library = torch._C._dispatch_library("IMPL", space, "", "<nbjudge>", 1)
                self._libraries.append(library)
                for operator, keys in self._operators.items():
                    if operator.startswith(f"{space}::"):
                        self._watch(library, operator, keys)

    def stop(self) -> None:
        while self._libraries:
            self._libraries.pop().reset()

    def _watch(self, library: Any, operator: str, keys: Sequence[str]) -> None:
        for key in keys:
            if torch._C._dispatch_has_computed_kernel_for_dispatch_key(operator, key):
                code = torch._C._dispatch_key_parse(key)
                kernel = torch._C._dispatch_get_computed_kernel_for_dispatch_key(operator, code)
                library.impl(operator, key, self._noting_kernel(operator, kernel), True)

    def _noting_kernel(self, operator: str, kernel: Any) -> Callable[..., Any]:
        note, always, called = self.note, operator in self._always, operator in self._called

        def noting(keys: Any, *arguments: Any, **named: Any) -> Any:
            if always:
                note(operator)
            if called and torch._C._current_graph_task_id() < 0:  # in no backward pass
                note(operator + CALLED)
            return kernel.call_boxed(keys, *arguments, **named)

        return noting


class WatchedCompiledCode(Watcher):
    """What torch.compile writes while it is watched, or has written; what is written is also run."""

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        super().__init__(note, watched_calls)
        self._exchanged = ExchangedCode(note)

    def start(self) -> None:
        self._watch(note=False)

    def end(self, differentiating: bool) -> None:
        self._watch(note=True)

    def stop(self) -> None:
        self._exchanged.give_back()

    def _watch(self, note: bool) -> None:
        cache = attribute(sys.modules.get("torch._inductor.codecache"), "PyCodeCache")
        for module in list(attribute(cache, "modules") or ()):
            function = attribute(attribute(module, "Runner"), "call")
            if isinstance(function, FunctionType) and function not in self._exchanged:
                names = [COMPILED + name for name in function.__code__.co_names if "_fused_" in name]
                self._exchanged.exchange(function, names)
                for name in names if note else ():
                    self.note(name)


class BackwardPasses(Watcher):
    """How many backward passes this process has run: torch numbers them all, however they are started."""

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        super().__init__(note, watched_calls)
        self._number = self._before = 0
        with torch.inference_mode(False), torch.enable_grad():
            self._leaf = torch.zeros(1, device="cpu", requires_grad=True)
            self._end = self._leaf.view(1)
        self._end.register_hook(self._read)
        self._one = torch.ones(1, device="cpu")
        self._engine: Any = torch.autograd.Variable._execution_engine

    def begin(self) -> None:
        self._before = self.count()

    def end(self, differentiating: bool) -> None:
        if self.count() > self._before + 1 and not differentiating:
            self.note(BACKWARD_PASS)

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


WATCHERS += [WatchedOperators, WatchedCompiledCode, BackwardPasses]
