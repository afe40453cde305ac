"""Lesson 6 on one page: multi-head attention without a loop, by reshapes and with named axes."""

import math

import torch
import torch.nn as nn
from einops import einsum, rearrange


def split_heads(x, num_heads):
    batch, length, embed_dim = x.shape
    if embed_dim % num_heads != 0:
        raise ValueError(f"embed_dim {embed_dim} is not divisible by {num_heads} heads")
    x = x.view(batch, length, num_heads, embed_dim // num_heads)  # (B, T, H, D): line breaks only
    return x.transpose(1, 2)  # (B, H, T, D): H moves in front of T


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)  # (B, H, T, D) -> (B, T, H, D) -> (B, T, H * D)


def stack_heads(head_weights):
    return torch.cat(list(head_weights), dim=0)  # H times (D, E) -> (H * D, E)


class EfficientMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by {num_heads} heads")
        self.num_heads = num_heads
        self.query = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.key = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.value = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key  # (B, T_k, E)
        value = key if value is None else value  # (B, T_k, E)
        query = split_heads(self.query(query), self.num_heads)  # (B, H, T_q, D)
        key = split_heads(self.key(key), self.num_heads)  # (B, H, T_k, D)
        value = split_heads(self.value(value), self.num_heads)  # (B, H, T_k, D)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T_q, T_k)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # (..., 1, T_q, T_k): an axis for the heads
            scores = scores.masked_fill(~mask, -math.inf)  # (B, H, T_q, T_k)
        weights = torch.softmax(scores, dim=-1)  # (B, H, T_q, T_k)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a row with nothing to attend to is NaN before
        output = merge_heads(weights @ value)  # (B, H, T_q, D) -> (B, T_q, E)
        return self.output(output), weights.mean(dim=1)  # (B, T_q, E), (B, T_q, T_k)


def from_torch(mha):
    packed = {"weight": mha.in_proj_weight, "bias": mha.in_proj_bias}  # (3 * E, E), (3 * E,) or None
    output = {"weight": mha.out_proj.weight, "bias": mha.out_proj.bias}  # (E, E), (E,) or None
    state = {}
    for kind in ("weight", "bias"):
        if packed[kind] is not None:
            for name, part in zip(("query", "key", "value"), packed[kind].detach().chunk(3), strict=True):
                state[f"{name}.{kind}"] = part  # (E, E) or (E,)
            state[f"output.{kind}"] = output[kind].detach()
    return state


class NamedAxesAttention(EfficientMultiHeadAttention):
    """The same layer, its axes by name: b batch, h heads, q queries, k keys, d numbers of a head."""

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        query = rearrange(self.query(query), "b q (h d) -> b h q d", h=self.num_heads)
        key = rearrange(self.key(key), "b k (h d) -> b h k d", h=self.num_heads)
        value = rearrange(self.value(value), "b k (h d) -> b h k d", h=self.num_heads)
        scores = einsum(query, key, "b h q d, b h k d -> b h q k") / math.sqrt(query.shape[-1])
        if mask is not None:
            mask = rearrange(mask, "... q k -> ... 1 q k")
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        output = einsum(weights, value, "b h q k, b h k d -> b h q d")
        return self.output(rearrange(output, "b h q d -> b q (h d)")), weights.mean(dim=1)
