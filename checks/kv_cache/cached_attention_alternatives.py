"""Other right ways to write `CachedAttention`."""

import math

import torch
import torch.nn as nn

from .cached_attention import Right, cached_attention


@cached_attention.accepted_alternative(
    "Makes the mask by comparing positions: query i is at T_past + i, key j is at j, and a token sees "
    "every key that does not come after it. The code reads like the rule. (Only this step is shown.)"
)
class ByComparedPlaces(Right):
    def mask(self, new, total):
        places = torch.arange(total)
        return places <= places[total - new :, None]


@cached_attention.accepted_alternative(
    "All four products with named axes, without a transposed tensor: h and b only come along. (Only this "
    "step is shown.)"
)
class ByEinsum(Right):
    def attend(self, query, key, value):
        scores = torch.einsum("bhqd,bhkd->bhqk", query * key.shape[-1] ** -0.5, key)
        hidden = torch.full(scores.shape[-2:], -math.inf, dtype=scores.dtype)
        hidden = hidden.triu(1 + scores.shape[-1] - scores.shape[-2])
        return torch.einsum("bhqk,bhkd->bhqd", (scores + hidden).softmax(-1), value)


@cached_attention.accepted_alternative
class HeadByHead(Right):
    def attend(self, query, key, value):
        outputs = []
        for q, k, v in zip(query.unbind(1), key.unbind(1), value.unbind(1)):
            scores = torch.bmm(q, k.mT) / math.sqrt(k.shape[-1])
            outputs.append(torch.bmm(self.weigh(scores), v))
        return torch.stack(outputs, dim=1)


@cached_attention.accepted_alternative
class TokenByToken(Right):
    """No mask at all: each new token gets the keys that it may see."""

    def attend(self, query, key, value):
        past, rows = key.shape[2] - query.shape[2], []
        for place in range(query.shape[2]):
            seen = past + place + 1
            scores = query[:, :, place : place + 1] @ key[:, :, :seen].mT * query.shape[-1] ** -0.5
            rows.append(scores.softmax(-1) @ value[:, :, :seen])
        return torch.cat(rows, dim=2)


@cached_attention.accepted_alternative
class PastAndNewApart(Right):
    """Scores against the past and against the new ones, side by side before the softmax."""

    def forward(self, x, cache=None):
        q, k, v = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        own = q @ k.mT / math.sqrt(q.shape[-1])
        own = own.masked_fill(torch.ones(own.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
        if cache is None:
            return self.output(self.merge(own.softmax(-1) @ v)), [k, v]
        past_key, past_value = cache
        weights = torch.cat([q @ past_key.mT / math.sqrt(q.shape[-1]), own], dim=-1).softmax(-1)
        seen, new = weights.split([past_key.shape[2], k.shape[2]], dim=-1)
        output = self.output(self.merge(seen @ past_value + new @ v))
        return output, [torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)]


@cached_attention.accepted_alternative
class WithATableOfItsOwn(Right):
    """A mask that grows where it has to, outside of the state_dict."""

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__(embed_dim, num_heads, bias)
        self.register_buffer("table", torch.ones(1, 1, dtype=torch.bool), persistent=False)

    def mask(self, new, total):
        if total > len(self.table):
            self.table = torch.ones(total, total, dtype=torch.bool).tril_()
        return self.table[total - new : total, :total]


@cached_attention.accepted_alternative
class WithoutHelpers(nn.Module):
    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        head_size, rest = divmod(embed_dim, num_heads)
        if rest != 0:
            raise ValueError(f"{num_heads} heads do not divide a width of {embed_dim}")
        self.num_heads, self.head_size = num_heads, head_size
        self.query = nn.Linear(embed_dim, embed_dim, bias)
        self.key = nn.Linear(embed_dim, embed_dim, bias)
        self.value = nn.Linear(embed_dim, embed_dim, bias)
        self.output = nn.Linear(embed_dim, embed_dim, bias)

    def forward(self, x, cache=None):
        batch, new, _ = x.shape
        shape = (batch, new, self.num_heads, self.head_size)
        q = self.query(x).view(shape).permute(0, 2, 1, 3)
        k = self.key(x).view(shape).permute(0, 2, 1, 3)
        v = self.value(x).view(shape).permute(0, 2, 1, 3)
        past = 0
        if cache is not None:
            past = cache[0].size(2)
            k = torch.cat((cache[0], k), dim=-2)
            v = torch.cat((cache[1], v), dim=-2)
        scores = torch.matmul(q, k.transpose(2, 3)) / self.head_size**0.5
        for row in range(new):
            scores[:, :, row, past + row + 1 :] = -1e9
        out = torch.matmul(nn.functional.softmax(scores, dim=3), v)
        return self.output(out.permute(0, 2, 1, 3).reshape(batch, new, -1)), (k, v)
