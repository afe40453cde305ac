"""Notes which of torch's operators run: all that torch computes comes by its dispatcher.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

import fnmatch
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import torch

from nbjudge.probe.watching import WATCHERS, Note, WatchedCalls

CALLED = " (called)"  # behind an operator that ran outside of every backward pass
# Where a processor computes.
DISPATCH_KEYS = ("CPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU", "NestedTensorCPU", "QuantizedCPU")


@lru_cache
def kernels_of_operators(patterns: Sequence[str]) -> list[tuple[str, str]]:
    """Operator and dispatch key of each kernel for the CPU whose operator has a name of these patterns.

    An operator that torch composes of others is left out: the others run, and autograd goes through them.
    """
    matches = re.compile("|".join(map(fnmatch.translate, patterns))).match
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    kernels: list[tuple[str, str]] = []
    for operator in torch._C._dispatch_get_all_op_names():
        if operator.startswith(("aten::", "quantized::")) and matches(operator + CALLED):
            keys = [key for key in DISPATCH_KEYS if has_kernel(operator, key)]
            if "CPU" not in keys and has_kernel(operator, "CompositeExplicitAutograd"):
                keys.insert(0, "CPU")
            kernels += [(operator, key) for key in keys]
    return kernels


@contextmanager
def watch_operators(note: Note, watched_calls: WatchedCalls) -> Iterator[None]:
    """Have the kernels of `watched_calls["operators"]["torch"]` note that they run, and do what they do."""
    libraries: dict[str, Any] = {}
    patterns = watched_calls.get("operators", {}).get("torch", ())
    with ExitStack() as stop:
        for operator, key in kernels_of_operators(tuple(patterns)) if patterns else ():
            space = operator.partition("::")[0]
            if space not in libraries:
                libraries[space] = torch._C._dispatch_library("IMPL", space, "", "<nbjudge>", 1)
                stop.callback(libraries[space].reset)
            code = torch._C._dispatch_key_parse(key)
            kernel = torch._C._dispatch_get_computed_kernel_for_dispatch_key(operator, code)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch says that its kernels are replaced
                libraries[space].impl(operator, key, _noting_kernel(operator, kernel, note), True)
        yield


def _noting_kernel(operator: str, kernel: Any, note: Note) -> Callable[..., Any]:
    def noting(keys: Any, *arguments: Any, **named: Any) -> Any:
        in_a_backward_pass = torch._C._current_graph_task_id() >= 0
        note(operator if in_a_backward_pass else operator + CALLED)
        return kernel.call_boxed(keys, *arguments, **named)

    return noting


WATCHERS.append(watch_operators)
