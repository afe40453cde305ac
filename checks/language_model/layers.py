"""The lesson's sizes, and correct layers in steps: a mistake changes one of them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import SUMS_OF_PRODUCTS, LayerDraw, Tolerance
from attention_lab.authoring.layers import RotaryLayer

# Angles made in float32 are right, whatever the dtype of x.
OF_ANGLES = Tolerance(float32=SUMS_OF_PRODUCTS.float32, float64=SUMS_OF_PRODUCTS.float32)


class ModelDraw(LayerDraw):
    """Sizes without 9, the number of query heads on this lesson's page."""

    fresh_sizes = (7, 11, 13, 14, 15, 17, 18)
    head_counts = (7, 11)
    head_sizes = (7, 11, 13, 14, 15, 17)


def attention_state(draw, width, kv_width):
    """Random weights of the four projections."""
    rows = {"query": width, "key": kv_width, "value": kv_width, "output": width}
    return {f"{name}.weight": draw.linear(count, width) for name, count in rows.items()}


class Norm(nn.Module):
    """A correct `RMSNorm`."""

    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.set_up(embed_dim)

    def set_up(self, embed_dim):
        self.weight = nn.Parameter(torch.ones(embed_dim))

    def size(self, x):
        """The mean of what the root is taken of: (..., 1)."""
        return x.square().mean(-1, keepdim=True)

    def divisor(self, x):
        return torch.sqrt(self.size(x) + self.eps)

    def weighted(self, normalised):
        return normalised * self.weight

    def forward(self, x):
        return self.weighted(x / self.divisor(x))


class MLP(nn.Module):
    """A correct `GatedMLP`."""

    with_bias = False

    def __init__(self, embed_dim, hidden_dim):
        super().__init__()
        self.gate = nn.Linear(embed_dim, hidden_dim, self.with_bias)
        self.up = nn.Linear(embed_dim, hidden_dim, self.with_bias)
        self.down = nn.Linear(hidden_dim, embed_dim, self.with_bias)

    def activation(self, x):
        return F.silu(x)

    def hidden(self, gate, up):
        return self.activation(gate) * up

    def forward(self, x):
        return self.down(self.hidden(self.gate(x), self.up(x)))


class Attention(RotaryLayer):
    """A correct `GroupedRotaryAttention`."""

    def __init__(self, embed_dim, num_heads, num_kv_heads, base=10000.0):
        self.refuse_groups(num_heads, num_kv_heads)
        super().__init__(
            embed_dim, num_heads, self.with_bias, self.kv_width(embed_dim, num_heads, num_kv_heads)
        )
        self.refuse_odd(embed_dim, num_heads)
        self.num_kv_heads, self.base = num_kv_heads, base

    with_bias = False

    def kv_width(self, embed_dim, num_heads, num_kv_heads):
        return embed_dim // num_heads * num_kv_heads

    def refuse_groups(self, num_heads, num_kv_heads):
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} keys and values evenly")

    def split(self, x, heads):
        """(B, T, heads · D) -> (B, heads, T, D)"""
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def positions(self, first, length):
        return torch.arange(first, first + length, dtype=torch.float64)

    def exponents(self, head_size):
        """2i/D, for each pair i of D/2."""
        return torch.arange(0, head_size, 2, dtype=torch.float64) / head_size

    def angles(self, x, first):
        """(T, D/2) for x (..., T, D), whose first position this is."""
        rates = self.rates(self.exponents(x.shape[-1]))
        return torch.outer(self.positions(first, x.shape[-2]), rates).to(x)

    def rates(self, exponents):
        return self.base**-exponents

    def project(self, x, past):
        """Query (B, H, T, D), key and value (B, H_kv, T, D), the first two turned."""
        query = self.split(self.query(x), self.num_heads)
        key, value = (self.split(part(x), self.num_kv_heads) for part in (self.key, self.value))
        return self.turned(query, key, value, past)

    def share(self, x):
        """(B, H_kv, T, D) -> (B, H, T, D)"""
        return x.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def diagonal(self, new, total):
        """The column of the last key that the first new token sees."""
        return total - new

    def attend(self, query, key, value):
        scores = query @ key.mT / self.scale(query.shape[-1])
        visible = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(self.diagonal(*scores.shape[-2:]))
        return self.softmax(self.fill(scores, ~visible)) @ value

    def forward(self, x, cache=None):
        query, *new = self.project(x, 0 if cache is None else cache[0].shape[2])
        key, value = self.extend(cache, *new)
        output = self.finish(self.merge(self.attend(query, self.share(key), self.share(value))))
        return output, self.returned_cache(cache, tuple(new), (key, value))


class Block(nn.Module):
    """A correct `DecoderBlock`."""

    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        super().__init__()
        self.norm1, self.norm2 = self.norms(embed_dim, eps)
        self.attention = self.attention_of(embed_dim, num_heads, num_kv_heads, base)
        self.mlp = MLP(embed_dim, hidden_dim)

    def norms(self, embed_dim, eps):
        return Norm(embed_dim, eps), Norm(embed_dim, eps)

    def attention_of(self, *given):
        return Attention(*given)

    def read(self, norm, x):
        """What the half with this norm reads."""
        return norm(x)

    def attend(self, x, cache):
        return self.attention(x, cache)

    def add(self, norm, x, found):
        """x behind the half with this norm."""
        return x + found

    def first(self, x, cache):
        """x and the cache behind the attention."""
        found, cache = self.attend(self.read(self.norm1, x), cache)
        return self.add(self.norm1, x, found), cache

    def second(self, x, before):
        """x behind the MLP; `before` is the block's own input."""
        return self.add(self.norm2, x, self.mlp(self.read(self.norm2, x)))

    def forward(self, x, cache=None):
        middle, cache = self.first(x, cache)
        return self.second(middle, x), cache
