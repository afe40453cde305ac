"""The exercise `rotate`; what both layouts share is in turning.py."""

import torch

from .turning import add_alternatives, add_mistakes, turn, turning

rotate = turning("rotate", "neighbours")


def _cut(x):
    """The first and the second number of each pair."""
    return x[..., 0::2], x[..., 1::2]


def _join(first, second):
    return torch.stack([first, second], dim=-1).flatten(-2)


add_mistakes(rotate, _cut, _join)
add_alternatives(rotate, _cut, _join)


@rotate.mistake(
    "Halves were turned instead of neighbours: number i went with i + D/2. Here the pairs are (0, 1), (2,"
    " 3) and so on: take every second number, `0::2` and `1::2`, and put the results back at those "
    "indices."
)
def halves_for_pairs(x, angles):
    return torch.cat(turn(*x.chunk(2, dim=-1), angles), dim=-1)


@rotate.mistake(
    "The pairs are turned correctly but stored in another order: all first numbers, then all second ones."
    " Each goes back to its own index, 2i or 2i+1."
)
def laid_down_otherwise(x, angles):
    first, second = turn(*_cut(x), angles)
    return torch.cat([first, second], dim=-1)


@rotate.mistake(
    "Neighbours go together, but their angles are laid out for halves: they were repeated one whole row "
    "after the other. Each has to come twice in a row: `repeat_interleave`, not `repeat` or `cat`."
)
def angles_repeated_otherwise(x, angles):
    first, second = _cut(x)
    twice = torch.cat([angles, angles], dim=-1)
    return x * twice.cos() + _join(-second, first) * twice.sin()


@rotate.accepted_alternative(
    "Each number gets its partner, with the sign of the sine: most libraries write it like this, without "
    "a loop."
)
def by_partners(x, angles):
    first, second = _cut(x)
    twice = angles.repeat_interleave(2, dim=-1)
    return x * twice.cos() + _join(-second, first) * twice.sin()
