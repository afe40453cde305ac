"""How the judge asks for a module: made with these arguments, on these weights, looked at like this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from nbjudge.authoring.cases import Build


@dataclass(frozen=True)
class ModuleBuild(Build):
    """How a module is made before it is called; see `build`."""

    builder: str = "module"
    state: dict[str, torch.Tensor] | None = None
    double: bool = False
    eval: bool = False


def build(
    *args: Any,
    state: dict[str, torch.Tensor] | None = None,
    double: bool = False,
    eval: bool = False,
    look: Sequence[str] = ("result",),
    **kwargs: Any,
) -> ModuleBuild:
    """Make a module the way it is written: ``build(embed_dim, bias=True, state=weights)``.

    `state` holds the weights to load, one for each parameter: other names or shapes raise.
    `double` asks for float64, `eval` for evaluation mode instead of training.
    `look` says what to send back: "result" of the call, "result again" (of a second call),
    names and shapes of "parameters", "buffers", their "buffer values", the "state" (state_dict)
    and "attributes" (child modules and their types); any other word is a method, called with the
    same arguments. One "result" is the value itself, anything else a dict. Without "result" or a
    method the module is only made.
    Of the "state" and of "buffer values" the numbers are compared, too, and two modules draw different ones:
    give `state`, or ask in a group that is `fresh`. For names and shapes alone, look at the "parameters".
    """
    return ModuleBuild(args, kwargs, tuple(look), state=state, double=double, eval=eval)
