"""Lesson 10's answers `rotary_angles` and `rotate`, given here and written for speed."""

import functools

import torch


@functools.lru_cache(maxsize=8)
def _table(length, head_size, base):
    speeds = base ** (-torch.arange(0, head_size, 2, dtype=torch.float32) / head_size)  # (D/2,)
    return torch.outer(torch.arange(length, dtype=torch.float32), speeds)


def rotary_angles(length, head_size, base=10000.0):
    """The angle by which each pair is turned at each position.

    length: T      head_size: D, even      base: the larger, the slower the last pairs
    returns: (T, D/2), float32
    """
    # Every layer needs the same angles for every token, so a longer table of them is kept; this is a copy.
    return _table(1 << length.bit_length(), head_size, base)[:length].clone()


def rotate(x, angles):
    """Turn each pair of neighbours by its angle.

    x: (..., T, D)      angles: (T, D/2), in the dtype of x or a more precise one
    returns: (..., T, D), in the more precise of the two dtypes
    """
    dtype = torch.promote_types(x.dtype, angles.dtype)
    exact = torch.promote_types(dtype, torch.float32)  # torch has complex numbers from float32 on
    # A pair is one complex number; a product with a number of size 1 turns it.
    pairs = torch.view_as_complex(x.to(exact).contiguous().unflatten(-1, (-1, 2)))  # (..., T, D/2)
    turns = torch.polar(torch.ones_like(angles, dtype=exact), angles.to(exact))  # (T, D/2)
    return torch.view_as_real(pairs * turns).flatten(-2).to(dtype)  # (..., T, D/2, 2) -> (..., T, D)
