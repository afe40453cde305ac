"""Lesson 4 on one page: a head that can be trained, and the causal one of a language model."""

import math

import torch
import torch.nn as nn


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_size):
        super().__init__()
        self.query = nn.Linear(embed_dim, head_size, bias=False)
        self.key = nn.Linear(embed_dim, head_size, bias=False)
        self.value = nn.Linear(embed_dim, head_size, bias=False)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key  # (B, T_k, E)
        value = key if value is None else value  # (B, T_k, E)
        query, key, value = self.query(query), self.key(key), self.value(value)  # (B, T, D) each
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, T_q, T_k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)  # (B, T_q, T_k)
        weights = torch.softmax(scores, dim=-1)  # (B, T_q, T_k)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a row with nothing to attend to was NaN
        return weights @ value, weights  # (B, T_q, D), (B, T_q, T_k)


class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim, block_size):
        super().__init__()
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)  # query, key and value in one product
        self.register_buffer("mask", torch.ones(block_size, block_size, dtype=torch.bool).tril())

    def forward(self, x):
        length, block_size = x.shape[1], self.mask.shape[0]
        if length > block_size:
            raise ValueError(f"a text of {length} tokens is longer than the block of {block_size}")
        query, key, value = self.qkv(x).chunk(3, dim=-1)  # (B, T, E) each
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, T, T)
        scores = scores.masked_fill(~self.mask[:length, :length], -math.inf)  # (B, T, T)
        weights = torch.softmax(scores, dim=-1)  # (B, T, T)
        return weights @ value, weights  # (B, T, E), (B, T, T)
