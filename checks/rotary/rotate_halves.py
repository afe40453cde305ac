"""The exercise `rotate_halves`; what both layouts share is in turning.py."""

import torch

from .turning import add_alternatives, add_mistakes, turn, turning

rotate_halves = turning("rotate_halves", "halves")


def _cut(x):
    """The first and the second number of each pair."""
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _join(first, second):
    return torch.cat([first, second], dim=-1)


add_mistakes(rotate_halves, _cut, _join)
add_alternatives(rotate_halves, _cut, _join)


@rotate_halves.mistake(
    "Neighbours were turned instead of halves: 2i went with 2i+1. Here number i goes with i + D/2: cut x "
    "in the middle."
)
def pairs_for_halves(x, angles):
    turned = turn(x[..., 0::2], x[..., 1::2], angles)
    return torch.stack(turned, dim=-1).flatten(-2)


@rotate_halves.mistake(
    "The halves are turned correctly but stored in another order: neighbours side by side. The first "
    "numbers of all pairs go to the first half, the second ones to the second."
)
def laid_down_otherwise(x, angles):
    first, second = turn(*_cut(x), angles)
    return torch.stack([first, second], dim=-1).flatten(-2)


@rotate_halves.mistake(
    "Halves go together, but their angles are laid out for neighbours: each was repeated twice in a row. Put "
    "the whole row of angles twice side by side: `cat`, not `repeat_interleave`."
)
def angles_repeated_otherwise(x, angles):
    first, second = _cut(x)
    twice = angles.repeat_interleave(2, dim=-1)
    return x * twice.cos() + _join(-second, first) * twice.sin()


@rotate_halves.accepted_alternative(
    "Each number gets its partner, with the sign of the sine: most libraries write it like this, without "
    "a loop."
)
def by_partners(x, angles):
    first, second = _cut(x)
    twice = torch.cat([angles, angles], dim=-1)
    return x * twice.cos() + _join(-second, first) * twice.sin()
