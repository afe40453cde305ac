"""What runs in the student's kernel: it takes inputs, calls the answer and sends back raw results.

The text of this file and of its parts (see `protocol`) is sent along with every question, so nothing of
the course is needed beside the kernel. It knows no reference, compares nothing and
decides nothing: whoever tampers with it only spoils their own answers. The grader's process
uses the same functions to run references and mistakes on the same inputs.
"""

import json
import linecache
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

from nbjudge.ask.program.recording import NoRecording, Recording
from nbjudge.values.packing import DEEPEST_NEST, LARGEST_TENSOR, LONGEST_LIST, Made, pack, unpack

LONGEST_MESSAGE = 2_000  # characters
# What can be looked at of a module without calling one of its methods.
SIDES = ("result", "result again", "parameters", "buffers", "buffer values", "state", "attributes")
LIBRARIES = (os.path.dirname(torch.__file__), os.path.dirname(json.__file__), "<nbjudge>")


def respond(text: str, namespace: dict[str, Any]) -> str:
    """Answer one packed request against the student's namespace; return the packed answers."""
    request = unpack(text, with_code=True)
    function = namespace.get(request["target"])
    with Recording() if request["trace"] and callable(function) else NoRecording() as recording:
        answers = _answers(function, request["calls"], recording)
        packed = pack(answers)
        late = recording.taken()  # while it was packed
    for answer in answers if late else ():
        answer["ran"] = sorted({*answer.get("ran", ()), *late})
    return pack(answers) if late else packed


def answer_calls(function: Any, calls: list[dict[str, Any]], trace: bool = False) -> list[dict[str, Any]]:
    """Call `function` once per call: a dict per call says what came of it, and with `trace` what ran."""
    with Recording() if trace and callable(function) else NoRecording() as recording:
        return _answers(function, calls, recording)


def _answers(
    function: Any, calls: list[dict[str, Any]], recording: Recording | NoRecording
) -> list[dict[str, Any]]:
    if not callable(function):
        return [{"missing": True} for _ in calls]
    answers: list[dict[str, Any]] = []
    for call in calls:
        answers.append(_answer(function, call, recording))
        answers[-1]["ran"] = sorted(recording.taken())
        if answers[-1].get("raised", {}).get("type") == "KeyboardInterrupt":
            break  # the judge has lost patience
    return answers


def _answer(
    function: Callable[..., Any], call: dict[str, Any], recording: Recording | NoRecording
) -> dict[str, Any]:
    needs_gradients = call["cotangents"] is not None
    given = {"args": call["args"], "kwargs": call["kwargs"]}
    try:
        with recording.aside():
            taken = _copy(given, needs_gradients)
            if call.get("through") is not None:
                function = _make(call["through"])(function)
        with recording.answering():
            if call.get("build") is None:
                value = function(*taken["args"], **taken["kwargs"])
            else:
                module = _build(function, call["build"])
                taken["parameters"] = dict(module.named_parameters())
                value = _use(module, call["build"]["look"], taken)
            # What comes later, in a hook, a thread or another call, is no answer any more.
            answer: dict[str, Any] = {"value": _snapshot(value)}
    except BaseException as error:
        answer = {"raised": describe_error(error)}
    else:
        if needs_gradients:
            with recording.answering(differentiating=True):
                answer["gradients"] = _gradients(value, call["cotangents"], taken)
    after = dict(_tensors(taken))
    answer["changed"] = [name for name, tensor in _tensors(given) if not _identical(tensor, after.get(name))]
    return answer


def _build(module_class: Callable[..., Any], build: dict[str, Any]) -> Any:
    """The student's module: constructed, given the judge's weights, in the dtype and mode asked for."""
    module = module_class(*_copy(build["args"], False), **_copy(build["kwargs"], False))
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


class WrongParametersError(Exception):
    """The module's parameters do not fit the weights that the judge sent."""

    def __init__(self, own: dict[str, Any], sent: dict[str, Any]) -> None:
        missing = [name for name in sent if name not in own]
        extra = [name for name in own if name not in sent]
        shapes = [
            f"{name} {own[name]} instead of {sent[name]}"
            for name in sent
            if own.get(name, sent[name]) != sent[name]
        ]
        parts = (("missing", missing), ("too many", extra), ("of another shape", shapes))
        super().__init__("; ".join(f"{what}: {_some(names)}" for what, names in parts if names))


def _some(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _use(module: Any, look: list[str], taken: dict[str, Any]) -> Any:
    """What the judge wants to look at: the result of a call, or how the module is made."""
    seen: dict[str, Any] = {}
    if "result" in look:
        seen["result"] = module(*taken["args"], **taken["kwargs"])
    if "result again" in look:
        seen["result again"] = module(*taken["args"], **taken["kwargs"])
    if "parameters" in look:
        seen["parameters"] = {name: list(tensor.shape) for name, tensor in module.named_parameters()}
    if "buffers" in look:
        seen["buffers"] = {name: [str(t.dtype), list(t.shape)] for name, t in module.named_buffers()}
    if "buffer values" in look:
        seen["buffer values"] = {name: tensor.detach() for name, tensor in module.named_buffers()}
    if "state" in look:
        seen["state"] = {name: tensor.detach() for name, tensor in module.state_dict().items()}
    if "attributes" in look:
        children = {name: type(child).__name__ for name, child in module.named_children()}
        seen["attributes"] = dict(sorted(children.items()))
    for method in (side for side in look if side not in SIDES):
        seen[method] = getattr(module, method)(*taken["args"], **taken["kwargs"])
    return seen["result"] if look == ["result"] else seen


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
    return {"type": type(error).__name__[:100], "message": message[:LONGEST_MESSAGE], "line": line[:200]}


def _copy(value: Any, needs_gradients: bool) -> Any:
    if isinstance(value, Made):
        return _make(value)
    if isinstance(value, torch.Tensor):
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
        return copy.requires_grad_(needs_gradients and value.is_floating_point())
    if isinstance(value, (list, tuple)):
        return type(value)(_copy(entry, needs_gradients) for entry in value)
    if isinstance(value, dict):
        return {key: _copy(entry, needs_gradients) for key, entry in value.items()}
    return value


def _snapshot(value: Any, depth: int = 0) -> Any:
    """The value as it is now, outside the graph, and of plain types: theirs may compute when they are read.

    What is too large or too deep to be sent need not be copied.
    """
    if isinstance(value, torch.Tensor):
        large = value.numel() > LARGEST_TENSOR
        return value.detach() if large else value.detach().clone()
    if isinstance(value, dict) and depth <= DEEPEST_NEST:
        return {key: _snapshot(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST and depth <= DEEPEST_NEST:
        entries = [_snapshot(entry, depth + 1) for entry in value]
        return tuple(entries) if isinstance(value, tuple) else entries
    if isinstance(value, (float, str)):
        return float(value) if isinstance(value, float) else str(value)
    return value


def _make(value: Made) -> Any:
    """Run the judge's own code for an argument that is no plain value: a callable, a torch module."""
    space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math, **value.given}
    exec(value.code_object(), space)
    return space["made"]


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
    if not (isinstance(taken, torch.Tensor) and given.shape == taken.shape and given.dtype == taken.dtype):
        return False
    # NaN is the same as NaN; only then need more than the quick comparison be made.
    return torch.equal(given, taken) or bool(((given == taken) | ((given != given) & (taken != taken))).all())
