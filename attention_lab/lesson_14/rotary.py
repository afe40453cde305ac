"""Lesson 10's answers `rotary_angles` and `rotate`, given here."""

import torch


def rotary_angles(length, head_size, base=10000.0):
    """The angle by which each pair is turned at each position.

    length: T      head_size: D, even      base: the larger, the slower the last pairs
    returns: (T, D/2), float32
    """
    speeds = base ** (-torch.arange(0, head_size, 2, dtype=torch.float32) / head_size)  # (D/2,)
    return torch.outer(torch.arange(length, dtype=torch.float32), speeds)


def rotate(x, angles):
    """Turn each pair of neighbours by its angle.

    x: (..., T, D)      angles: (T, D/2), in the dtype of x or a more precise one
    returns: (..., T, D), in the more precise of the two dtypes
    """
    cosine, sine = angles.cos(), angles.sin()  # (T, D/2)
    first, second = x[..., 0::2], x[..., 1::2]  # (..., T, D/2)
    turned = [first * cosine - second * sine, first * sine + second * cosine]
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, D/2, 2) -> (..., T, D)
