"""Answers that are tensors and modules: what a course adds that teaches with torch.

Importing this makes torch's values known to the grader, here and in the kernels that it asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from nbjudge.authoring.cases import Build
from nbjudge.authoring.cases import Draw as PlainDraw
from nbjudge.authoring.exercise import Step as PlainStep
from nbjudge.authoring.exercise import merge_watched_calls
from nbjudge.kernel.protocol import send_along
from nbjudge.torch.memory import all_memory_of, memory_of, multiplications_of, without_gradients
from nbjudge.torch.values import MOST_STEPS

__all__ = ["Draw", "Step", "all_memory_of", "build", "memory_of", "multiplications_of", "without_gradients"]
send_along("nbjudge.torch.values")


@dataclass(frozen=True)
class ModuleBuild(Build):
    """The making of a module before it is called; see `build`."""

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


class Draw(PlainDraw):
    """A source of sizes, tensors and numbers that repeats itself for the same seed."""

    # A power of two, where normal numbers are to be multiples of it, MOST_STEPS of it at most: such tensors
    # travel in a byte a number, times any power of two. Worth it where a call is large, as layers' are.
    step: float | None = None

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._torch = torch.Generator().manual_seed(seed)

    @property
    def generator(self) -> torch.Generator:
        return self._torch

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(torch.randint(low, high + 1, (1,), generator=self.generator))

    def shuffled(self, things: Iterable[Any]) -> list[Any]:
        """The same things in another order."""
        listed = list(things)
        return [listed[index] for index in torch.randperm(len(listed), generator=self.generator).tolist()]

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """An int64 tensor of whole numbers from `low` to `high`, both included."""
        return torch.randint(low, high + 1, shape, generator=self.generator)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Standard-normal numbers, in steps where there is a `step`: a tensor of this shape and dtype."""
        return self.in_steps(torch.randn(shape, generator=self.generator, dtype=torch.float64)).to(dtype)

    def in_steps(self, numbers: torch.Tensor) -> torch.Tensor:
        """The nearest multiples of `step`; without a step the numbers as they are."""
        if self.step is None:
            return numbers
        # Adding 0 makes 0 of -0, which would not come back from a whole number.
        return (numbers / self.step).round().clamp(-MOST_STEPS, MOST_STEPS) * self.step + 0.0

    def uniform(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Numbers between 0 and 1: a tensor of this shape and dtype."""
        return torch.rand(shape, generator=self.generator, dtype=torch.float64).to(dtype)

    def permutation(self, length: int) -> torch.Tensor:
        """A reordering of `length` positions that moves every one of them."""
        shift = self.integer(1, length - 1) if length > 1 else 0
        cycle = torch.randperm(length, generator=self.generator)
        order = torch.empty_like(cycle)
        order[cycle] = cycle.roll(shift)
        return order


@dataclass(frozen=True)
class Step(PlainStep):
    """A step that is not allowed, as functions of Python's and as operators of torch's.

    `operators` holds patterns, as in file names, of names such as "aten::_sort.out". Every alias, method,
    module and scripted form of a step ends in the operators that have a kernel of their own. " (called)"
    follows the name of an operator that runs outside of every backward pass: a pattern may ask for it where
    what autograd computes for the judge is not the student's.
    """

    operators: tuple[str, ...] = ()

    def watched_calls(self) -> dict[str, dict[str, tuple[str, ...]]]:
        return merge_watched_calls([super().watched_calls(), {"operators": {"torch": self.operators}}])

    def _own_patterns(self) -> tuple[str, ...]:
        return (*super()._own_patterns(), *self.operators)
