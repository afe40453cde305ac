"""Lesson 9 on one page: attention with a cache, generation, and grouped queries."""

import math

import torch
import torch.nn as nn
from einops import einsum, rearrange

from attention_lab.lesson_09.efficient import merge_heads, split_heads


class CachedAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by {num_heads} heads")
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(embed_dim, embed_dim, bias=bias) for _ in range(4)
        )

    def forward(self, x, cache=None):
        query = split_heads(self.query(x), self.num_heads)  # (B, H, T_new, D): of the new tokens only
        key = split_heads(self.key(x), self.num_heads)  # (B, H, T_new, D)
        value = split_heads(self.value(x), self.num_heads)  # (B, H, T_new, D)
        if cache is not None:  # the past comes first
            key = torch.cat([cache[0], key], dim=2)  # (B, H, T, D)
            value = torch.cat([cache[1], value], dim=2)  # (B, H, T, D)
        scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])  # (B, H, T_new, T)
        new, total = scores.shape[-2:]
        causal = torch.ones(new, total, dtype=torch.bool, device=x.device).tril(diagonal=total - new)
        weights = torch.softmax(scores.masked_fill(~causal, -math.inf), dim=-1)  # (B, H, T_new, T)
        return self.output(merge_heads(weights @ value)), (key, value)  # (B, T_new, E), the cache


def generate(step, tokens, new_tokens):
    ids, cache = tokens, None  # first the whole prompt, (B, T)
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = step(ids, cache)  # (B, T, V)
            ids = logits[:, -1].argmax(dim=-1, keepdim=True)  # (B, 1): all that is passed next
            tokens = torch.cat([tokens, ids], dim=1)  # (B, T + 1)
    return tokens


def cache_bytes(layers, batch, length, num_kv_heads, head_size, bytes_per_number=2):
    return 2 * layers * batch * length * num_kv_heads * head_size * bytes_per_number  # keys and values


def repeat_heads(x, groups):
    return x.repeat_interleave(groups, dim=1)  # (B, H_kv, T, D) -> (B, H_kv * groups, T, D)


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by {num_heads} heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} key/value heads evenly")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        kv_width = num_kv_heads * (embed_dim // num_heads)  # H_kv * D
        self.query, self.output = (nn.Linear(embed_dim, embed_dim, bias=bias) for _ in range(2))
        self.key, self.value = (nn.Linear(embed_dim, kv_width, bias=bias) for _ in range(2))

    def forward(self, x, mask=None):
        groups = self.num_heads // self.num_kv_heads
        query = split_heads(self.query(x), self.num_heads)  # (B, H, T, D)
        key = repeat_heads(split_heads(self.key(x), self.num_kv_heads), groups)  # (B, H, T, D)
        value = repeat_heads(split_heads(self.value(x), self.num_kv_heads), groups)  # (B, H, T, D)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T, T)
        if mask is not None:
            mask = mask.unsqueeze(-3)  # (..., 1, T, T): the same for every head
            scores = scores.masked_fill(~mask, -math.inf)  # (B, H, T, T)
        weights = torch.softmax(scores, dim=-1)  # (B, H, T, T)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a row with nothing to attend to was NaN
        return self.output(merge_heads(weights @ value)), weights.mean(dim=1)  # (B, T, E), (B, T, T)


class NamedAxesAttention(GroupedQueryAttention):
    """The same layer, its axes by name: a key/value head g serves r query heads, so nothing is repeated."""

    def forward(self, x, mask=None):
        query = rearrange(self.query(x), "b q (g r d) -> b g r q d", g=self.num_kv_heads, d=self._head_size)
        key = rearrange(self.key(x), "b k (g d) -> b g k d", g=self.num_kv_heads)
        value = rearrange(self.value(x), "b k (g d) -> b g k d", g=self.num_kv_heads)
        scores = einsum(query, key, "b g r q d, b g k d -> b g r q k") / math.sqrt(self._head_size)
        if mask is not None:
            mask = rearrange(mask, "... q k -> ... 1 1 q k")
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        output = einsum(weights, value, "b g r q k, b g k d -> b g r q d")
        return self.output(rearrange(output, "b g r q d -> b q (g r d)")), weights.mean(dim=(1, 2))

    @property
    def _head_size(self):
        return self.query.out_features // self.num_heads
