"""Lesson 10 on one page: queries and keys that are turned by their positions, with a cache."""

import math

import torch
import torch.nn as nn
from einops import einsum, rearrange


def rotary_angles(length, head_size, base=10000.0):
    if head_size % 2 != 0:
        raise ValueError(f"a head of {head_size} numbers cannot be cut into pairs")
    speeds = base ** (-torch.arange(0, head_size, 2) / head_size)  # (D/2,): 1 for the first pair
    return torch.outer(torch.arange(length, dtype=speeds.dtype), speeds)  # (T, D/2)


def rotate(x, angles):  # pairs of neighbours (2i, 2i + 1), as in RoFormer
    cosine, sine = angles.cos(), angles.sin()  # (T, D/2)
    first, second = x[..., 0::2], x[..., 1::2]  # (..., T, D/2)
    turned = [first * cosine - second * sine, first * sine + second * cosine]
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, D/2, 2) -> (..., T, D)


def rotate_halves(x, angles):  # pairs (i, i + D/2), as in most libraries
    cosine, sine = angles.cos(), angles.sin()  # (T, D/2)
    first, second = x.chunk(2, dim=-1)  # (..., T, D/2)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)  # (..., T, D)


def to_halves(weight, num_heads):
    pairs = weight.unflatten(0, (num_heads, -1, 2))  # (E, E_in) -> (H, D/2, 2, E_in)
    return pairs.transpose(1, 2).flatten(0, 2)  # first numbers of a head's pairs, then the second ones


class RotaryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by {num_heads} heads")
        if embed_dim // num_heads % 2 != 0:
            raise ValueError(f"a head of {embed_dim // num_heads} numbers cannot be cut into pairs")
        self.num_heads, self.base = num_heads, base
        self.query, self.key, self.value, self.output = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4)
        )

    def forward(self, x, mask=None, cache=None):
        query, key, value = (
            part(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, H, T_new, D)
            for part in (self.query, self.key, self.value)
        )
        past = 0 if cache is None else cache[0].shape[2]
        angles = rotary_angles(past + x.shape[1], query.shape[-1], self.base)[past:].to(x)  # (T_new, D/2)
        query, key = rotate(query, angles), rotate(key, angles)  # values are not turned
        if cache is not None:  # its keys were turned when they were new
            key = torch.cat([cache[0], key], dim=2)  # (B, H, T, D)
            value = torch.cat([cache[1], value], dim=2)  # (B, H, T, D)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T_new, T)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # an axis for the heads
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)  # (B, H, T_new, T)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a row with nothing to attend to was NaN
        output = (weights @ value).transpose(1, 2).flatten(2)  # (B, T_new, E)
        return self.output(output), (key, value)


# The same with named axes (einops): b texts, h heads, t tokens, d numbers, in p pairs.


def rotate_named(x, angles):
    first, second = rearrange(x, "... t (p two) -> two ... t p", two=2)
    turned = [first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()]
    return rearrange(turned, "two ... t p -> ... t (p two)")


def to_halves_named(weight, num_heads):
    return rearrange(weight, "(h p two) e -> (h two p) e", h=num_heads, two=2)


def turned_scores_named(query, key, angles):
    query, key = rotate_named(query, angles), rotate_named(key, angles)
    return einsum(query, key, "b h q d, b h k d -> b h q k") / math.sqrt(query.shape[-1])
