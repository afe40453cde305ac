"""Fresh inputs for one submission, all drawn from one recorded seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch

# Sizes that no lesson's code uses (a test holds the lessons to it), so that a number
# copied from the notebook never fits a hidden case by accident.
FRESH_SIZES = (7, 9, 11, 13, 14, 15, 17, 18)
MANY_SIZES = 4
FRESH_EVEN_SIZES = (26, 28, 34, 36, 38, 44, 46)
# Each head costs time, and so does each number in it: layers with heads are asked with few of all.
FRESH_HEAD_COUNTS = (7, 9)
FRESH_SMALL_SIZES = (7, 9, 11, 13, 14, 15)


class Draw:
    """A source of sizes, tensors and masks that repeats itself for the same seed."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def sizes(self, count: int) -> tuple[int, ...]:
        """`count` sizes (at most 8), all different from each other and from the notebook's numbers."""
        # Many of them are the axes of one tensor, whose numbers all have to travel: then the smallest.
        sizes = FRESH_SIZES if count < MANY_SIZES else FRESH_SIZES[: count + 1]
        order = torch.randperm(len(sizes), generator=self.generator).tolist()
        return tuple(sizes[index] for index in order[:count])

    def even_sizes(self, count: int) -> tuple[int, ...]:
        """As `sizes`, but even, and others than those; at most 7."""
        order = torch.randperm(len(FRESH_EVEN_SIZES), generator=self.generator).tolist()
        return tuple(FRESH_EVEN_SIZES[index] for index in order[:count])

    def heads(self, others: int = 0) -> tuple[int, ...]:
        """How many heads, how wide each is, and `others` more sizes (at most 4): all different.

        Neither they nor the width of all heads together are a number of the notebook.
        """
        count = FRESH_HEAD_COUNTS[self.integer(0, len(FRESH_HEAD_COUNTS) - 1)]
        order = torch.randperm(len(FRESH_SMALL_SIZES), generator=self.generator).tolist()
        sizes = [FRESH_SMALL_SIZES[index] for index in order if FRESH_SMALL_SIZES[index] != count]
        return count, *sizes[: 1 + others]

    def indivisible(self) -> tuple[int, int]:
        """A width and a number of heads: a number for each head at least, and some left over."""
        count, *sizes = self.heads(4)
        return next(size for size in sizes if size > count and size % count), count

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(torch.randint(low, high + 1, (1,), generator=self.generator))

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """An int64 tensor of whole numbers from `low` to `high`, both included."""
        return torch.randint(low, high + 1, shape, generator=self.generator)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Standard-normal numbers."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(dtype)

    def uniform(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Numbers between 0 and 1."""
        return torch.rand(shape, generator=self.generator, dtype=torch.float64).to(dtype)

    def weights(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Attention weights: positive, and summing to 1 over the last dimension."""
        raw = self.uniform(*shape, dtype=torch.float64) + 0.05
        return (raw / raw.sum(dim=-1, keepdim=True)).to(dtype)

    def mask(self, *shape: int, keep: float = 0.6) -> torch.Tensor:
        """A boolean mask in which each row keeps at least one and, where it can, hides at least one."""
        mask = torch.rand(shape, generator=self.generator) < keep
        kept, hidden = torch.randint(shape[-1], (2, *shape[:-1], 1), generator=self.generator)
        hidden = torch.where(hidden == kept, (hidden + 1) % shape[-1], hidden)
        mask.scatter_(-1, hidden, False)
        return mask.scatter_(-1, kept, True)

    def permutation(self, length: int) -> torch.Tensor:
        """A reordering of `length` positions that moves every one of them."""
        shift = self.integer(1, length - 1) if length > 1 else 0
        cycle = torch.randperm(length, generator=self.generator)
        order = torch.empty_like(cycle)
        order[cycle] = cycle.roll(shift)
        return order

    def shuffled(self, things: Iterable[Any]) -> list[Any]:
        """The same things in another order."""
        listed = list(things)
        return [listed[index] for index in torch.randperm(len(listed), generator=self.generator).tolist()]


def in_any_order(make: Callable[[Draw], Iterable[Any]]) -> Callable[[Draw], list[Any]]:
    """Have the cases of a group asked in an order that differs with every submission.

    For answers of yes and no: nobody gets them right by counting how often they were asked.
    """

    @wraps(make)
    def shuffled(draw: Draw) -> list[Any]:
        return draw.shuffled(make(draw))

    return shuffled
