"""What this course draws: sizes that no lesson uses, heads, attention weights, masks."""

from __future__ import annotations

import math

import torch

import nbjudge.torch

MANY_SIZES = 4
# Each head costs time, and so does each number in it: layers with heads are asked with few of all.
FRESH_HEAD_COUNTS = (7, 9)
FRESH_SMALL_SIZES = (7, 9, 11, 13, 14, 15)


class Draw(nbjudge.torch.Draw):
    """A source of sizes, tensors and masks that repeats itself for the same seed."""

    # Sizes that no lesson's code uses (a test holds the lessons to it), so that a number
    # copied from the notebook never fits a hidden case by accident.
    fresh_sizes = (7, 9, 11, 13, 14, 15, 17, 18)
    fresh_even_sizes = (26, 28, 34, 36, 38, 44, 46)
    head_counts = FRESH_HEAD_COUNTS
    head_sizes = FRESH_SMALL_SIZES
    even_head_size = 14  # none of the other sizes of a layer with rotary positions
    batch_sizes = (11, 18)  # of attention block by block

    def sizes(self, count: int) -> tuple[int, ...]:
        """`count` sizes (at most 8), all different from each other and from the notebook's numbers."""
        # Many of them are the axes of one tensor, whose numbers all have to travel: then the smallest.
        sizes = self.fresh_sizes if count < MANY_SIZES else self.fresh_sizes[: count + 1]
        return tuple(self.shuffled(sizes)[:count])

    def heads(self, others: int = 0) -> tuple[int, ...]:
        """Return how many heads, how wide each is, and `others` more sizes (at most 4): all different.

        Neither they nor the width of all heads together are a number of the notebook.
        """
        count = self.head_counts[self.integer(0, len(self.head_counts) - 1)]
        smallest, next_one, *sizes = (size for size in self.head_sizes if size != count)
        # Weights have as many numbers as the width squared: that comes first.
        width, other = self.shuffled((smallest, next_one))
        return count, width, *self.shuffled([other, *sizes][:others])

    def indivisible(self) -> tuple[int, int]:
        """A width and a number of heads: a number for each head at least, and some left over."""
        count, *sizes = self.heads(4)
        return next(size for size in sizes if size > count and size % count), count

    def weights(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Attention weights: positive, and summing to 1 over the last dimension."""
        raw = self.uniform(*shape, dtype=torch.float64) + 0.05
        return (raw / raw.sum(dim=-1, keepdim=True)).to(dtype)

    def mask(self, *shape: int, keep: float = 0.6) -> torch.Tensor:
        """A boolean mask in which each row keeps at least one and, where it can, hides at least one."""
        mask = torch.rand(shape, generator=self.generator) < keep
        always_visible, hidden = torch.randint(shape[-1], (2, *shape[:-1], 1), generator=self.generator)
        hidden = torch.where(hidden == always_visible, (hidden + 1) % shape[-1], hidden)
        mask.scatter_(-1, hidden, False)
        return mask.scatter_(-1, always_visible, True)


class LayerDraw(Draw):
    """For layers, and what else is asked with thousands of numbers: they travel in a byte each."""

    step = 1 / 32

    def linear(self, rows: int, columns: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """A linear layer's weights, small enough that no softmax saturates.

        Their standard deviation is the power of two next to 1 / √columns, as steps times any other number are
        no steps.
        """
        return self.normal(rows, columns, dtype=dtype) * 2.0 ** -round(math.log2(columns) / 2)


class SmallDraw(Draw):
    """Smaller sizes, for lessons on whose pages 5 is no number."""

    fresh_sizes = (5, 7, 9, 11, 13, 14, 15, 17)
    head_counts = (5, 7)
    head_sizes = (5, 7, 9, 11, 13, 14)


class SmallLayerDraw(SmallDraw, LayerDraw):
    """For layers of such lessons."""
