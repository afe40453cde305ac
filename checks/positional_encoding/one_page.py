"""Lesson 7 on one page: the position of a token, written into its numbers."""

import torch
import torch.nn as nn
from einops import rearrange


def order_matters(attend, x, permutation):
    gap = attend(x[:, permutation]) - attend(x)[:, permutation]  # (B, T, E): 0 if order is not seen
    return bool(gap.abs().max() > 1e-4)


def sinusoidal_encoding(max_len, embed_dim):
    position = torch.arange(max_len).unsqueeze(1)  # (max_len, 1)
    angle = position / 10000 ** (torch.arange(0, embed_dim, 2) / embed_dim)  # (max_len, clocks)
    encoding = torch.empty(max_len, embed_dim)
    encoding[:, 0::2] = torch.sin(angle)  # (max_len, clocks)
    encoding[:, 1::2] = torch.cos(angle[:, : embed_dim // 2])  # an odd width ends on a sine
    return encoding  # (max_len, E)


class PositionalEncoding(nn.Module):
    def __init__(self, embed_dim, max_len=256):
        super().__init__()
        self.register_buffer("pe", sinusoidal_encoding(max_len, embed_dim), persistent=False)

    def forward(self, x):
        length, max_len = x.shape[1], self.pe.shape[0]
        if length > max_len:
            raise ValueError(f"a text of {length} tokens, but max_len is {max_len}")
        return x + self.pe[:length]  # (B, T, E) + (T, E)


def shift_matrix(offset, embed_dim):
    even = torch.arange(0, embed_dim, 2)  # (E / 2,): the sine of each clock; its cosine is the next
    angle = offset / 10000 ** (even / embed_dim)  # (E / 2,)
    matrix = torch.zeros(embed_dim, embed_dim)
    matrix[even, even] = matrix[even + 1, even + 1] = torch.cos(angle)  # blocks of 2 by 2,
    matrix[even, even + 1] = torch.sin(angle)  # each clock turned by its own angle
    matrix[even + 1, even] = -torch.sin(angle)
    return matrix  # (E, E): matrix @ encoding[p] is encoding[p + offset]


def named_axes_encoding(max_len, embed_dim):
    """The same table for an even width: sine and cosine of a clock are an axis of two, the inner one."""
    speed = 1 / 10000 ** (torch.arange(0, embed_dim, 2) / embed_dim)  # clock
    angle = torch.arange(max_len)[:, None] * speed  # position clock
    return rearrange([torch.sin(angle), torch.cos(angle)], "two position clock -> position (clock two)")
