"""torch's tensors as a kind of value, how its modules are made and looked at, and which operators run.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

import fnmatch
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nbjudge.probe.respond import BUILDERS, Builder, WrongParametersError
from nbjudge.probe.watching import WATCHERS, Note, WatchedCalls
from nbjudge.values.kinds import LARGEST_ARRAY, ArrayKind, Named, register, type_name

DTYPES = {f"{sign}{bits}" for sign in ("int", "uint") for bits in (8, 16, 32, 64)}
DTYPES |= {"bool", "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64"}
# What torch says where code asks for a GPU and its build, or the machine, has none.
NO_GPU = ("not compiled with CUDA", "Found no NVIDIA driver", "No CUDA GPUs are available")
MOST_STEPS = 127  # either side of 0: what a byte holds
FEWEST_IN_BYTES = 256  # elements, below which a byte each saves nothing
FINEST = 64  # steps of 2 to the minus this


class Tensors(ArrayKind):
    """`torch.Tensor` on a CPU, dense and real, and what belongs to its graph."""

    message_tag = "tensor"
    library = "torch"
    type_names = ("Tensor",)
    names = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional"}
    noun = "tensor"
    differentiates = True
    cause_of_chance = (
        "Is dropout active, perhaps in evaluation mode, too, or part of a `torch.empty` never filled?"
    )
    objects = {"torch.nn.modules.module.Module": ("a layer (an `nn.Module`)", "Call it with its input.")}
    no_gradient = "something on the way leaves torch, detaches or switches gradients off"

    def as_numbers(self, value: Any) -> Any:
        tensor = value.detach()
        # NumPy has no bfloat16, and its float16 results are too rough.
        return (
            tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor
        ).numpy()

    def dtype(self, value: Any) -> str:
        return str(value.dtype).removeprefix("torch.")

    def is_floating(self, value: Any) -> bool:
        return bool(value.is_floating_point())

    def zeros_like(self, value: Any) -> Any:
        return torch.zeros_like(value)

    def rolled(self, value: Any, axis: int) -> Any:
        return torch.roll(value, 1, dims=axis)

    def obstacle(self, value: Any) -> str:
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            return type_name(value)
        if value.layout != torch.strided or self.dtype(value) not in DTYPES:
            return f"a tensor of layout {value.layout} and dtype {value.dtype}"
        if value.numel() > LARGEST_ARRAY:
            return f"a tensor of {value.numel()} elements, which is more than is read"
        return ""

    def to_tree(self, value: Any, message: Any) -> dict[str, Any]:
        obstacle = self.obstacle(value)
        if obstacle:
            return {"other": obstacle}
        tensor = value.detach().resolve_neg()
        dtype = self.dtype(tensor)
        # A transposed view arrives as a transposed view, so that contiguity can be tested.
        order = sorted(range(tensor.dim()), key=lambda axis: -tensor.stride()[axis])
        base = tensor.permute(order).clone(memory_format=torch.contiguous_format).cpu()
        back = [order.index(axis) for axis in range(tensor.dim())]
        steps = _in_bytes(base)
        if steps is not None:
            whole, halvings = steps
            start = message.add_numbers(whole.numpy().tobytes())
            return {self.message_tag: [dtype, list(base.shape), start, back, halvings]}
        start = message.add_numbers(base.reshape(-1).view(torch.uint8).numpy().tobytes())
        return {self.message_tag: [dtype, list(base.shape), start, back]}

    def from_tree(self, content: Any, message: Any) -> Any:
        name, shape, start, order, *in_bytes = content
        if name not in DTYPES:
            raise ValueError("no dtype that is read")
        dtype: torch.dtype = getattr(torch, name)
        if in_bytes:
            return _from_bytes(message, dtype, shape, start, *in_bytes).permute(order)
        numbers, axes = message.read_numbers(start, shape, dtype.itemsize)
        if not numbers:
            return torch.empty(axes, dtype=dtype).permute(order)
        if dtype == torch.bool:  # whatever bits were sent
            return (torch.frombuffer(numbers, dtype=torch.uint8) != 0).reshape(axes).permute(order)
        return torch.frombuffer(numbers, dtype=dtype).reshape(axes).permute(order)

    def copy(self, value: Any, with_gradient: bool) -> Any:
        copy = self.copy_within_graph(value.detach())
        return copy.requires_grad_(with_gradient and value.is_floating_point())

    def copy_within_graph(self, value: Any) -> Any:
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)

    def snapshot(self, value: Any) -> Any:
        """The value outside the graph. What is too large to be sent need not be copied."""
        return value.detach() if value.numel() > LARGEST_ARRAY else value.detach().clone()

    def identical(self, value: Any, other: Any) -> bool:
        same_form = (
            isinstance(other, torch.Tensor) and value.shape == other.shape and value.dtype == other.dtype
        )
        if not same_form:
            return False
        # NaN is the same as NaN; only then need more than the quick comparison be made.
        return torch.equal(value, other) or bool(
            ((value == other) | ((value != value) & (other != other))).all()
        )

    def advice_on(self, error: str, message: str) -> str:
        if not any(sign in message for sign in NO_GPU):
            return ""
        return "It asks for a GPU, and here is none: make tensors on the device of the input (`x.device`)."

    def draw_from(self, seed: int) -> Callable[[], None]:
        device = torch.get_default_device()
        if device.type != "cpu":  # a cell has set it, and arguments would be made there
            torch.set_default_device(None)
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(seed)

        def undo() -> None:
            torch.set_rng_state(before)
            if device.type != "cpu":
                torch.set_default_device(device)

        return undo

    def switched(self) -> list[str]:
        dtype = torch.get_default_dtype()
        calls = [] if dtype == torch.float32 else [f"torch.set_default_dtype({dtype})"]
        return calls if torch.is_grad_enabled() else [*calls, "torch.set_grad_enabled(False)"]

    def companions(self, value: Any) -> dict[str, Any]:
        return {"grad": value.grad} if value.is_leaf else {}

    def gradients(
        self, outputs: Sequence[Any], cotangents: Sequence[Any], inputs: Sequence[Named]
    ) -> dict[str, Any]:
        leaves = [(name, tensor) for name, tensor in inputs if tensor.requires_grad]
        floating = [output for output in outputs if output.is_floating_point()]
        pairs = [
            (output, cotangent.to(output.dtype))
            for output, cotangent in zip(floating, cotangents, strict=False)
            if output.requires_grad and output.shape == cotangent.shape
        ]
        if not pairs:
            return {name: None for name, _ in leaves}
        # Past the functions that a student's own backward pass starts with, which may be watched.
        outputs, cotangents = zip(*pairs, strict=True)
        engine: Any = torch.autograd.Variable._execution_engine
        engine.run_backward(
            outputs, cotangents, False, False, (), allow_unreachable=True, accumulate_grad=True
        )
        return {name: tensor.grad for name, tensor in leaves}


def _in_bytes(base: torch.Tensor) -> tuple[torch.Tensor, int] | None:
    """`base` times 2 ** k in whole numbers that a byte holds, and k; None where there is no such k."""
    if base.dtype not in (torch.float32, torch.float64) or base.numel() < FEWEST_IN_BYTES:
        return None
    largest = float(base.abs().max())
    if not 2.0**-FINEST < largest <= MOST_STEPS:  # NaN neither
        return None
    halvings = min(math.floor(math.log2(MOST_STEPS / largest)), FINEST)
    bits = torch.int32 if base.dtype == torch.float32 else torch.int64
    # Of most tensors the first numbers tell. Compared as bits: 0 with a sign is no whole number.
    for some in (base.reshape(-1)[:8], base):
        whole = (some * 2.0**halvings).to(torch.int8)
        if not torch.equal((whole.to(base.dtype) * 2.0**-halvings).view(bits), some.view(bits)):
            return None
    return whole, halvings


def _from_bytes(message: Any, dtype: torch.dtype, shape: Any, start: Any, halvings: Any) -> torch.Tensor:
    if (
        dtype not in (torch.float32, torch.float64)
        or type(halvings) is not int
        or not 0 <= halvings <= FINEST
    ):
        raise ValueError("no steps that are read")
    numbers, axes = message.read_numbers(start, shape, 1)
    return torch.frombuffer(numbers, dtype=torch.int8).reshape(axes).to(dtype) * 2.0**-halvings


class ModuleBuilder(Builder):
    """Objects that must be an `nn.Module`, in the dtype and mode that is asked for."""

    def make(self, answer: Callable[..., Any], build: dict[str, Any], args: Any, kwargs: Any) -> Any:
        module = answer(*args, **kwargs)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"it builds an object of type {type(module).__name__}, not an nn.Module")
        if build["double"]:
            module.double()
        if build["state"] is not None:
            own = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
            sent = {name: tuple(tensor.shape) for name, tensor in build["state"].items()}
            if own != sent:
                raise WrongParametersError(own, sent)
            module.load_state_dict(build["state"], strict=False)
        return module.train(not build["eval"])

    def modes(self, build: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what is the same in training is so in evaluation; the other way round it need not be."""
        return [build] if build["eval"] else [build, build | {"eval": True}]

    def call_before(self, instance: Any, build: dict[str, Any], args: Any, kwargs: Any) -> None:
        """In the other mode than the call that is asked for, and then in its own."""
        with torch.no_grad():
            for training in (build["eval"], not build["eval"]):
                instance.train(training)(*args, **kwargs)

    def parameters(self, instance: Any) -> dict[str, Any]:
        return dict(instance.named_parameters())

    def side(self, instance: Any, name: str) -> Any:
        if name == "parameters":
            return {key: list(tensor.shape) for key, tensor in instance.named_parameters()}
        if name == "buffers":
            return {key: [str(tensor.dtype), list(tensor.shape)] for key, tensor in instance.named_buffers()}
        if name == "buffer values":
            return {key: tensor.detach() for key, tensor in instance.named_buffers()}
        if name == "state":
            return {key: tensor.detach() for key, tensor in instance.state_dict().items()}
        children = {key: type(child).__name__ for key, child in instance.named_children()}
        return dict(sorted(children.items()))


register(Tensors())
BUILDERS["module"] = ModuleBuilder()


CALLED = " (called)"  # behind an operator that ran outside of every backward pass
# Where a processor computes.
DISPATCH_KEYS = ("CPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU", "NestedTensorCPU", "QuantizedCPU")


@lru_cache
def kernels_of_operators(patterns: Sequence[str]) -> list[tuple[str, str]]:
    """Operator and dispatch key of each kernel for the CPU whose operator has a name of these patterns.

    An operator that torch composes of others is left out: the others run, and autograd goes through them.
    If a pattern is its whole name and an asterisk, it is watched where autograd begins.
    """
    names = [name + CALLED for name in torch._C._dispatch_get_all_op_names()]
    # One piece of each pattern that a name holds if it matches: of thousands of names few hold any.
    pieces = {max(re.split(r"\[.*|[*?]", pattern), key=len) for pattern in patterns}
    near = dict.fromkeys(name for piece in pieces for name in names if piece in name)
    matches = re.compile("|".join(map(fnmatch.translate, patterns))).match
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    kernels: list[tuple[str, str]] = []
    for name in near:
        if name.startswith(("aten::", "quantized::")) and matches(name):
            operator = name.removesuffix(CALLED)
            keys = [key for key in DISPATCH_KEYS if has_kernel(operator, key)]
            if "CPU" not in keys and has_kernel(operator, "CompositeExplicitAutograd"):
                keys.insert(0, "CPU")
            if not keys and operator + "*" in patterns and has_kernel(operator, "CompositeImplicitAutograd"):
                keys = ["AutogradCPU"]
            kernels += [(operator, key) for key in keys]
    return kernels


@contextmanager
def watch_operators(note: Note, watched_calls: WatchedCalls) -> Iterator[None]:
    """Have the kernels of `watched_calls["operators"]["torch"]` note that they run, and do what they do."""
    libraries: dict[str, Any] = {}
    patterns = watched_calls.get("operators", {}).get("torch", ())
    kernels = kernels_of_operators(tuple(patterns)) if patterns else []
    with ExitStack() as stop:
        if kernels and not hasattr(torch._C, "_dispatch_get_computed_kernel_for_dispatch_key"):
            stop.enter_context(_NoteOperators(note, kernels))
            kernels = []
        for operator, key in kernels:
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


class _NoteOperators(TorchDispatchMode):
    """Notes operators in an old torch, in which a kernel that another one replaces cannot be called."""

    def __init__(self, note: Note, kernels: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.note, self.operators = note, {operator for operator, _ in kernels}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # see `nbjudge.torch.memory`
        return False

    def __torch_dispatch__(self, operator: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if operator.name() in self.operators:
            self.note(_place(operator.name()))
        return operator(*args, **(kwargs or {}))


def _place(operator: str) -> str:
    """An operator's name, and whether it runs outside of every backward pass."""
    return operator if torch._C._current_graph_task_id() >= 0 else operator + CALLED


def _noting_kernel(operator: str, kernel: Any, note: Note) -> Callable[..., Any]:
    def noting(keys: Any, *arguments: Any, **named: Any) -> Any:
        note(_place(operator))
        return kernel.call_boxed(keys, *arguments, **named)

    return noting


WATCHERS.append(watch_operators)
