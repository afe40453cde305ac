"""Lesson 5's multi-head attention, head by head: the layer that this lesson must equal."""

import math

import torch
import torch.nn as nn


class AttentionHead(nn.Module):
    """One head: embed_dim E in, head_size D out."""

    def __init__(self, embed_dim, head_size, bias=False):
        super().__init__()
        self.query = nn.Linear(embed_dim, head_size, bias=bias)
        self.key = nn.Linear(embed_dim, head_size, bias=bias)
        self.value = nn.Linear(embed_dim, head_size, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        """query (B, T_q, E), key and value (B, T_k, E) -> output (B, T_q, D), weights (B, T_q, T_k)."""
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = self.query(query), self.key(key), self.value(value)  # (B, T, D)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, T_q, T_k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a query with nothing to attend to
        return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """H heads in a loop, side by side, and one projection of their outputs."""

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by {num_heads} heads")
        head_size = embed_dim // num_heads
        self.heads = nn.ModuleList(AttentionHead(embed_dim, head_size, bias=bias) for _ in range(num_heads))
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        """query (B, T_q, E), key and value (B, T_k, E) -> output (B, T_q, E), weights (B, T_q, T_k)."""
        results = [head(query, key, value, mask) for head in self.heads]
        outputs = torch.cat([output for output, _ in results], dim=-1)  # (B, T_q, E)
        weights = torch.stack([weights for _, weights in results])  # (H, B, T_q, T_k)
        return self.output(outputs), weights.mean(dim=0)
