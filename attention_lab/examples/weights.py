"""Layers whose weights an example can name."""

from __future__ import annotations

from typing import Any

import torch

from attention_lab.examples.words import name_of


def with_weights(layer: torch.nn.Module, **weights: Any) -> torch.nn.Module:
    """The layer, with these numbers as its parameters: ``query=[[1.0, 0.0]]`` is those of ``query.weight``.

    A name with its end (``qkv_bias``) is that of ``qkv.bias``. Raises AssertionError with a sentence where
    the layer has not just these parameters, in these shapes.
    """
    __tracebackhide__ = True
    numbers = {_parameter(name): torch.as_tensor(given) for name, given in weights.items()}
    wanted = {name: tuple(given.shape) for name, given in numbers.items()}
    own = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
    assert own == wanted, (
        f"{name_of(layer)}: its parameters are not those asked for ({_differing(own, wanted)})."
    )
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.copy_(numbers[name])
    return layer


def _differing(own: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> str:
    """How names and shapes differ, in a few words."""
    missing = [name for name in wanted if name not in own]
    extra = [name for name in own if name not in wanted]
    shapes = [
        f"{name} is {own[name]}, not {shape}"
        for name, shape in wanted.items()
        if own.get(name, shape) != shape
    ]
    parts = (("missing: ", missing), ("too many: ", extra), ("", shapes))
    return "; ".join(f"{what}{', '.join(names[:4])}" for what, names in parts if names)


def _parameter(name: str) -> str:
    return f"{name.removesuffix('_bias')}.bias" if name.endswith("_bias") else f"{name}.weight"
