"""How torch's modules are made, given weights, and looked at.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from nbjudge.probe.building import BUILDERS, Builder

MOST_NAMES = 4


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
        """What is the same in training is so in evaluation; the other way round it need not be."""
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
        super().__init__("; ".join(f"{what}: {_some_names(names)}" for what, names in parts if names))


def _some_names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


BUILDERS["module"] = ModuleBuilder()
