"""The only part of the grader that runs in the student's kernel.

The text of this file is sent there with every question, so it imports nothing of ours and
nothing of the course is needed beside it. It takes inputs, calls the student's answer and
sends back raw results. It knows no reference, compares nothing and decides nothing: whoever
tampers with it only spoils their own answers. The grader's process uses the same functions
to pack its questions, and to run references and mistakes on the same inputs.
"""

import base64
import json
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from safetensors.torch import load, save
from torch.utils._python_dispatch import TorchDispatchMode

LARGEST_TENSOR = 2**22  # elements
LONGEST_TEXT = 2_000  # characters
LONGEST_LIST = 10_000  # entries
DEEPEST_NEST = 6
LIBRARIES = (os.path.dirname(torch.__file__), os.path.dirname(json.__file__), "<attention-lab>")


# ---- packing: plain values as JSON, tensors as safetensors, nothing else -------------------


def pack(value: Any) -> str:
    """Turn plain values and tensors into text; anything else becomes the name of its type."""
    tensors: dict[str, torch.Tensor] = {}
    tree = json.dumps(_to_tree(value, tensors, 0))
    return tree + "\n" + base64.b64encode(save(tensors)).decode()


def unpack(text: str) -> Any:
    """The value that `pack` packed. Raises ValueError or KeyError for anything else."""
    tree, _, blob = text.partition("\n")
    return _from_tree(json.loads(tree), load(base64.b64decode(blob)))


def _to_tree(value: Any, tensors: dict[str, torch.Tensor], depth: int) -> dict[str, Any]:
    kind = type(value)
    if depth > DEEPEST_NEST:
        return {"other": "something nested too deeply"}
    if kind in (torch.Tensor, torch.nn.Parameter):
        return _tensor_to_tree(value, tensors)
    if value is None or kind in (bool, int):
        return {"plain": value}
    if isinstance(value, float):
        return {"plain": float(value)}
    if isinstance(value, str):
        return {"plain": value[:LONGEST_TEXT]}
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
        name = "tuple" if isinstance(value, tuple) else "list"
        return {name: [_to_tree(entry, tensors, depth + 1) for entry in value]}
    if isinstance(value, dict) and len(value) <= LONGEST_LIST:
        return {"dict": [[str(key), _to_tree(entry, tensors, depth + 1)] for key, entry in value.items()]}
    return {"other": f"{kind.__module__}.{kind.__qualname__}"[:LONGEST_TEXT]}


def _tensor_to_tree(tensor: torch.Tensor, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    tensor = tensor.detach()
    if tensor.layout != torch.strided or tensor.is_complex() or tensor.is_quantized:
        return {"other": f"a tensor of layout {tensor.layout} and dtype {tensor.dtype}"}
    if tensor.numel() > LARGEST_TENSOR:
        return {"other": f"a tensor of {tensor.numel()} elements, which is more than is read"}
    # A transposed view arrives as a transposed view, so that contiguity can be tested.
    order = sorted(range(tensor.dim()), key=lambda axis: -tensor.stride()[axis])
    base = tensor.permute(order)
    name = str(len(tensors))
    tensors[name] = base.clone(memory_format=torch.contiguous_format).cpu()
    back = [order.index(axis) for axis in range(tensor.dim())]
    return {"tensor": name, "order": back} if back != sorted(back) else {"tensor": name}


def _from_tree(tree: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Any:
    (kind,) = tree.keys() - {"order"}
    content = tree[kind]
    if kind == "tensor":
        return tensors[content].permute(tree["order"]) if "order" in tree else tensors[content]
    if kind in ("list", "tuple"):
        entries = [_from_tree(entry, tensors) for entry in content]
        return tuple(entries) if kind == "tuple" else entries
    if kind == "dict":
        return {str(key): _from_tree(entry, tensors) for key, entry in content}
    if kind == "plain" and (content is None or type(content) in (bool, int, float, str)):
        return content
    if kind == "other":
        return Unreadable(str(content))
    raise ValueError(f"not something a kernel may send: {kind}")


class Unreadable:
    """Stands for a returned object that is neither a plain value nor an ordinary tensor."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


# ---- answering ------------------------------------------------------------------------------


def respond(text: str, namespace: dict[str, Any]) -> str:
    """Answer one packed request against the student's namespace; return the packed answers."""
    request = unpack(text)
    return pack(answer_calls(namespace.get(request["target"]), request["calls"], request["trace"]))


def answer_calls(function: Any, calls: list[dict[str, Any]], trace: bool = False) -> dict[str, Any]:
    """Call `function` once per call: a dict per call says what came of it, and what ran meanwhile."""
    if not callable(function):
        return {"answers": [{"missing": True} for _ in calls], "ran": []}
    if trace:
        with Recording():  # what torch loads at its first traced call is not the student's doing
            torch.zeros(1) + 1
    answers: list[dict[str, Any]] = []
    recording = Recording() if trace else None
    for call in calls:
        answers.append(_answer(function, call, recording))
        if answers[-1].get("raised", {}).get("type") == "KeyboardInterrupt":
            break  # the judge has lost patience
    return {"answers": answers, "ran": sorted(recording.ran)[:LONGEST_LIST] if recording else []}


def _answer(
    function: Callable[..., Any], call: dict[str, Any], recording: "Recording | None"
) -> dict[str, Any]:
    needs_gradients = call["cotangents"] is not None
    given = {"args": call["args"], "kwargs": call["kwargs"]}
    taken = _copy(given, needs_gradients)
    try:
        if recording is None:
            value = function(*taken["args"], **taken["kwargs"])
        else:
            with recording:
                value = function(*taken["args"], **taken["kwargs"])
    except BaseException as error:
        answer: dict[str, Any] = {"raised": describe_error(error)}
    else:
        answer = {"value": value}
        if needs_gradients:
            answer["gradients"] = _gradients(value, call["cotangents"], taken)
    answer["changed"] = [
        name for name, tensor in _tensors(given) if not _identical(tensor, dict(_tensors(taken)).get(name))
    ]
    return answer


def _gradients(value: Any, cotangents: list[torch.Tensor], taken: dict[str, Any]) -> dict[str, Any] | str:
    """The gradient of sum(output * cotangent) for each floating argument, None where none flows."""
    inputs = [(name, tensor) for name, tensor in _tensors(taken) if tensor.requires_grad]
    outputs = [tensor for _, tensor in _tensors(value) if tensor.is_floating_point()]
    pairs = [
        (output, cotangent.to(output.dtype))
        for output, cotangent in zip(outputs, cotangents, strict=False)
        if output.requires_grad and output.shape == cotangent.shape
    ]
    if not pairs:
        return {name: None for name, _ in inputs}
    try:
        torch.autograd.backward([output for output, _ in pairs], [cotangent for _, cotangent in pairs])
    except Exception as error:
        return describe_error(error)["message"]
    return {name: tensor.grad for name, tensor in inputs}


def describe_error(error: BaseException) -> dict[str, str]:
    """Type, message and the student's own line of an exception."""
    line, trace = "", error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if not filename.startswith(LIBRARIES) and filename != __file__:
            line = linecache.getline(filename, trace.tb_lineno).strip() or line
        trace = trace.tb_next
    try:
        message = str(error)
    except Exception:
        message = ""
    return {"type": type(error).__name__[:100], "message": message[:LONGEST_TEXT], "line": line[:200]}


def _copy(value: Any, needs_gradients: bool) -> Any:
    if isinstance(value, torch.Tensor):
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
        return copy.requires_grad_(needs_gradients and value.is_floating_point())
    if isinstance(value, (list, tuple)):
        return type(value)(_copy(entry, needs_gradients) for entry in value)
    if isinstance(value, dict):
        return {key: _copy(entry, needs_gradients) for key, entry in value.items()}
    return value


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """(name, tensor) for every tensor in nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for index, entry in enumerate(value):
            yield from _tensors(entry, f"{name}/{index}")
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _tensors(entry, f"{name}/{key}")


def _identical(given: torch.Tensor, taken: torch.Tensor | None) -> bool:
    return (
        isinstance(taken, torch.Tensor)
        and given.shape == taken.shape
        and given.dtype == taken.dtype
        and bool(((given == taken) | ((given != given) & (taken != taken))).all())
    )


class Recording(TorchDispatchMode):
    """Notes which torch operators and functions run, however they are called.

    The dispatcher sees operators under any alias, from C++ or from scripted code; the profile
    sees calls that leave no operator of their own, such as the start of a backward pass.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ran: set[str] = set()

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ran.add(str(operator))
        return operator(*args, **(kwargs or {}))

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            if (getattr(argument, "__module__", None) or "torch").startswith("torch"):
                self.ran.add("C " + argument.__name__)
        elif event == "call":
            module = frame.f_globals.get("__name__") or ""
            if isinstance(module, str) and module.startswith("torch."):
                self.ran.add(f"{module}.{frame.f_code.co_qualname}")

    def __enter__(self) -> "Recording":
        super().__enter__()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *details: Any) -> None:
        sys.setprofile(None)
        super().__exit__(*details)
