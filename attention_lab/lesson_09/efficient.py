"""Lesson 6's reshapes and layer: the tools of this lesson, and what its layers are compared with."""

import math

import torch
import torch.nn as nn


def split_heads(x, num_heads):
    """Split each token among the heads: (B, T, H·D) -> (B, H, T, D)."""
    batch, length, width = x.shape
    return x.view(batch, length, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(x):
    """Put the heads of each token side by side again: (B, H, T, D) -> (B, T, H·D)."""
    return x.transpose(1, 2).flatten(2)


class EfficientMultiHeadAttention(nn.Module):
    """All heads in one product."""

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
        """query (B, T_q, E), key and value (B, T_k, E) -> output (B, T_q, E), weights (B, T_q, T_k)."""
        key = query if key is None else key
        value = key if value is None else value
        query = split_heads(self.query(query), self.num_heads)  # (B, H, T_q, D)
        key = split_heads(self.key(key), self.num_heads)  # (B, H, T_k, D)
        value = split_heads(self.value(value), self.num_heads)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T_q, T_k)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # the same for every head
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a query with nothing to attend to
        return self.output(merge_heads(weights @ value)), weights.mean(dim=1)
