"""Fresh inputs as tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from nbjudge.authoring.draw import Draw as PlainDraw
from nbjudge.torch.tensors import MOST_STEPS


class Draw(PlainDraw):
    """A source of sizes, tensors and numbers that repeats itself for the same seed."""

    # A power of two, where normal numbers are to be multiples of it, MOST_STEPS of it at most: such tensors
    # travel in a byte a number, times any power of two. Worth it where a question is large, as layers' are.
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
