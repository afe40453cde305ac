"""A correct layer with heads, in steps: a mistake changes one of them."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn as nn

from attention_lab.authoring.vocabulary import defaults

PROJECTIONS = ("query", "key", "value", "output")


class MultiHeadLayer(nn.Module):
    """Lesson 6's layer. Those of later lessons have a `forward` of their own."""

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    output: nn.Linear

    def __init__(
        self, embed_dim: int, num_heads: int, bias: bool = False, kv_width: int | None = None
    ) -> None:
        super().__init__()
        self.refuse(embed_dim, num_heads)
        self.num_heads = num_heads
        for name in PROJECTIONS:
            width = kv_width if kv_width and name in ("key", "value") else embed_dim
            self.add_module(name, nn.Linear(embed_dim, width, bias=self.biased(bias)))

    def refuse(self, embed_dim: int, num_heads: int) -> None:
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} does not divide into {num_heads} heads")

    def biased(self, bias: bool) -> bool:
        return bias

    def split(self, x: Any) -> Any:
        """(B, T, E) -> (B, H, T, D)"""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def merge(self, x: Any) -> Any:
        """(B, H, T, D) -> (B, T, E)"""
        return x.transpose(1, 2).flatten(2)

    def with_defaults(self, query: Any, key: Any, value: Any) -> Any:
        return query, *defaults(query, key, value)

    def project(self, query: Any, key: Any, value: Any) -> Any:
        return self.query(query), self.key(key), self.value(value)

    def scale(self, head_size: int) -> float:
        """Return what the scores are divided by."""
        return math.sqrt(head_size)

    def lift(self, mask: Any) -> Any:
        """A mask as all heads see it."""
        return mask.unsqueeze(-3)

    def fill(self, scores: Any, hidden: Any) -> Any:
        """Hide scores before the softmax."""
        return scores.masked_fill(hidden, -math.inf)

    def softmax(self, scores: Any) -> Any:
        return torch.softmax(scores, dim=-1)

    def clear(self, weights: Any, mask: Any) -> Any:
        """Clear hidden weights after the softmax."""
        return weights.masked_fill(~mask, 0.0)

    def weigh(self, scores: Any, mask: Any) -> Any:
        """The weights, under a mask (..., T_q, T_k) or None."""
        if mask is None:
            return self.softmax(scores)
        mask = self.lift(mask)
        return self.clear(self.softmax(self.fill(scores, ~mask)), mask)

    def attend(self, query: Any, key: Any, value: Any, mask: Any) -> Any:
        """(B, H, T, D) each -> outputs (B, H, T_q, D), weights (B, H, T_q, T_k)."""
        weights = self.weigh(query @ key.transpose(-2, -1) / self.scale(query.shape[-1]), mask)
        return weights @ value, weights

    def finish(self, merged: Any) -> Any:
        return self.output(merged)

    def over_heads(self, weights: Any) -> Any:
        return weights.mean(dim=1)

    def forward(self, query: Any, key: Any = None, value: Any = None, mask: Any = None) -> Any:
        parts = self.project(*self.with_defaults(query, key, value))
        query, key, value = (self.split(part) for part in parts)
        outputs, weights = self.attend(query, key, value, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)


class RotaryLayer(MultiHeadLayer):
    """A layer with rotary positions, pairs of neighbours, and a cache; subclasses say its `angles`."""

    def refuse_odd(self, embed_dim: int, num_heads: int) -> None:
        if embed_dim // num_heads % 2:
            raise ValueError(f"a head of {embed_dim // num_heads} numbers has no pairs")

    def angles(self, x: Any, first: int) -> Any:
        """(T, D/2) for x (..., T, D), whose first position this is."""
        raise NotImplementedError

    def pairs(self, x: Any) -> Any:
        """The first and the second numbers."""
        return x[..., 0::2], x[..., 1::2]

    def join(self, turned: Any) -> Any:
        return torch.stack(turned, -1).flatten(-2)

    def turn(self, x: Any, first: int = 0) -> Any:
        angles, (a, b) = self.angles(x, first), self.pairs(x)
        return self.join((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()))

    def turned(self, query: Any, key: Any, value: Any, past: int) -> Any:
        return self.turn(query, past), self.turn(key, past), value

    def extend(self, cache: Any, key: Any, value: Any) -> Any:
        if cache is None:
            return key, value
        return torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)

    def returned_cache(self, old: Any, new: Any, total: Any) -> Any:
        """The cache that is returned, of the one that came, the new keys and values, and all of them."""
        return total
