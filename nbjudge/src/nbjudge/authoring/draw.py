"""Fresh inputs for one submission, all drawn from one recorded seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any


class Draw:
    """A source of sizes, numbers and arrays that repeats itself for the same seed.

    Its arrays are NumPy's; `nbjudge.torch.Draw` draws tensors. A course that wants other sizes, or
    draws things of its own, makes a subclass and hands it to its exercises: ``Exercise(..., draw=MyDraw)``.
    """

    # Sizes that few notebooks use, so that a number copied from one never fits a hidden case by accident.
    fresh_sizes: Sequence[int] = (7, 9, 11, 13, 14, 17, 18, 19)
    fresh_even_sizes: Sequence[int] = (14, 18, 22, 26, 28, 34, 36, 38)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._numpy: Any = None

    @classmethod
    def for_recordings(cls) -> type[Draw]:
        """Return the class that draws the inputs of a recording.

        Each student downloads the recordings: a course may return a subclass that draws smaller arrays.
        """
        return cls

    def sizes(self, count: int) -> tuple[int, ...]:
        """`count` sizes (at most 8), all different from each other."""
        return tuple(self.shuffled(self.fresh_sizes)[:count])

    def even_sizes(self, count: int) -> tuple[int, ...]:
        """As `sizes`, but even; at most 8."""
        return tuple(self.shuffled(self.fresh_even_sizes)[:count])

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return self._random.randint(low, high)

    def shuffled(self, things: Iterable[Any]) -> list[Any]:
        """The same things in another order."""
        listed = list(things)
        return self._random.sample(listed, len(listed))

    def integers(self, low: int, high: int, *shape: int) -> Any:
        """An int64 array of whole numbers from `low` to `high`, both included."""
        return self.generator.integers(low, high, shape, endpoint=True)

    def normal(self, *shape: int, dtype: Any = "float64") -> Any:
        """Standard-normal numbers: an array of this shape and dtype."""
        return self.generator.standard_normal(shape).astype(dtype)

    def uniform(self, *shape: int, dtype: Any = "float64") -> Any:
        """Numbers between 0 and 1: an array of this shape and dtype."""
        return self.generator.random(shape).astype(dtype)

    def permutation(self, length: int) -> Any:
        """A reordering of `length` positions that moves every one of them."""
        import numpy

        shift = self.integer(1, length - 1) if length > 1 else 0
        cycle = numpy.array(self.shuffled(range(length)), dtype="int64")
        order = numpy.empty_like(cycle)
        order[cycle] = numpy.roll(cycle, shift)
        return order

    @property
    def generator(self) -> Any:
        """NumPy's generator (torch's in `nbjudge.torch.Draw`), for whatever else is drawn."""
        if self._numpy is None:
            import numpy

            self._numpy = numpy.random.default_rng(self._seed)
        return self._numpy


def in_any_order(make: Callable[[Any], Iterable[Any]]) -> Callable[[Any], list[Any]]:
    """Have the cases of a group asked in an order that differs with every submission.

    For yes-or-no answers: counting how often each was requested does not reveal the next one.
    """

    @wraps(make)
    def shuffled(draw: Any) -> list[Any]:
        return list(draw.shuffled(make(draw)))

    return shuffled
