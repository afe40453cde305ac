"""What a call takes: bytes held in memory, and multiplications. Counted, not timed.

These functions run in the student's kernel: ``case(..., measure=memory_of)``. They make the call without
gradients and return the pair (value, report). The judge compares the value, and the `verify` of the case
group looks at the report.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import torch
from torch.utils import flop_counter
from torch.utils._python_dispatch import TorchDispatchMode

ALLOCATION = "memory_alloc"
BLOCK = 2**16  # bytes; the same call holds some hundred more or less each time


def without_gradients(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The answer, called with gradients switched off: ``case(..., through=without_gradients)``."""

    def called(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return answer(*args, **kwargs)

    return called


def memory_of(call: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """Make a call without gradients; return its value, and the bytes of the tensors that it holds.

    "largest" is the largest tensor that was made; "most" are all tensors that were held at once, results and
    what operators need within themselves included. Arguments do not count.
    """
    with torch.no_grad(), allocations() as sizes:
        value = call()
    held = max(0, max(accumulate(sizes), default=0))
    return value, {"largest": max(sizes, default=0), "most": held}


def memory_beside_torch(call: Callable[[], Any]) -> tuple[Any, int]:
    """Make a call without gradients; return its value, and the most bytes that it holds beside torch.

    They are those of Python's own objects and of NumPy's arrays, in whole blocks of 64 KiB.
    """
    with torch.no_grad():
        value, held = _beside_torch(call)
        # Objects of other threads count, too, so a large result is measured a second time.
        if held > BLOCK:
            held = min(held, _beside_torch(call)[1])
    return value, held


def all_memory_of(call: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """Count what `memory_of` and `memory_beside_torch` count, in one call.

    The report is that of `memory_of`, and as "elsewhere" that of `memory_beside_torch`.
    """
    elsewhere = []

    def counted() -> Any:
        value, held = memory_beside_torch(call)
        elsewhere.append(held)
        return value

    value, told = memory_of(counted)
    return value, told | {"elsewhere": elsewhere[0]}


@contextmanager
def allocations() -> Iterator[list[int]]:
    """Count what torch allocates while the block runs: the list is filled when it ends.

    It holds the bytes of each tensor that was made, and less than 0 where a tensor's memory was freed.
    """
    autograd: Any = torch._C._autograd
    profiler: Any = torch._C._profiler
    # The public profiler takes several times as long as the calls. Its predecessor, without the record of
    # operators, keeps nothing but allocations.
    options = (False, True, False, False, False, profiler._ExperimentalConfig())  # only True: memory
    sizes: list[int] = []
    autograd._enable_profiler_legacy(profiler.ProfilerConfig(profiler.ProfilerState.CPU, *options))
    autograd._enable_record_function(False)
    try:
        yield sizes
    finally:
        autograd._enable_record_function(True)
        recorded = autograd._disable_profiler_legacy()
    sizes += [each.cpu_memory_usage() for thread in recorded for each in thread if each.kind() == ALLOCATION]


def _beside_torch(call: Callable[[], Any]) -> tuple[Any, int]:
    tracemalloc.start()
    try:
        value = call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return value, -(-peak // BLOCK) * BLOCK


def multiplications_of(call: Callable[[], Any]) -> tuple[Any, int]:
    """Make a call without gradients; return its value, and how many numbers it multiplies.

    Those of all products of matrices and vectors, and of convolutions, count; other operators do not.
    """
    with torch.no_grad(), _CountProducts() as products:
        value = call()
    return value, products.floating_operations // 2


class _CountProducts(TorchDispatchMode):
    """Counts as torch's `FlopCounterMode` does, which imports torch's compiler: that takes half a second."""

    floating_operations = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # otherwise torch wraps the method below, and imports it as well
        return False

    def __torch_dispatch__(self, operator: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with self:  # an operator made of others is counted by these
            result = operator.decompose(*args, **kwargs)
        if result is NotImplemented:
            result = operator(*args, **kwargs)
            self.floating_operations += _floating_operations(operator._overloadpacket, args, kwargs, result)
        return result


def _floating_operations(operator: Any, args: Any, kwargs: Any, result: Any) -> int:
    aten = torch.ops.aten
    if operator in (aten.mv, aten.addmv, aten.dot, aten.vdot):  # torch's counter leaves these out
        return 2 * max(arg.numel() for arg in args)
    count = flop_counter.flop_registry.get(operator)
    return 0 if count is None else int(count(*args, **kwargs, out_val=result))
