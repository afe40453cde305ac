"""The exercise `AttentionHead`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import (
    FLOATS,
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    build,
    case,
    defaults,
    for_large_scores,
    hidden_above,
)

attention_head = Exercise(
    "AttentionHead",
    results=("output", "weights"),
    axes=(("queries", "head size"), ("queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
)

NAMES = ("query", "key", "value")


def _head(draw, embed_dim, head_size, dtype=torch.float32, **how):
    """A head with the judge's weights, of a size that leaves every key some attention."""
    shape, root = (head_size, embed_dim), math.sqrt(embed_dim)
    state = {f"{name}.weight": draw.normal(*shape, dtype=dtype) / root for name in NAMES}
    return build(embed_dim, head_size, state=state, double=dtype == torch.float64, **how)


@attention_head.group("three projections without a bias, registered", points=0.5)
def parameters(draw):
    embed_dim, head_size, batch, length = draw.sizes(4)
    yield case(build=build(embed_dim, head_size, look=("parameters",)))
    zeros = torch.zeros(batch, length, embed_dim)  # the same for all fresh weights: comparable
    yield case(zeros, build=build(embed_dim, head_size, look=("result", "parameters")))


@attention_head.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    embed_dim, head_size, batch, length = draw.sizes(4)
    fresh = build(embed_dim, head_size, look=("result", "state"))
    yield case(draw.normal(batch, length, embed_dim), build=fresh)


@attention_head.group("self-attention, twice the same", points=2)
def self_attention(draw):
    batch, length, embed_dim, head_size = draw.sizes(4)
    for dtype in FLOATS:
        x = draw.normal(batch, length, embed_dim, dtype=dtype)
        yield case(x, build=_head(draw, embed_dim, head_size, dtype, look=("result", "result again")))
    yield case(draw.normal(length, length, length), build=_head(draw, length, length, eval=True))
    yield case(draw.normal(1, 1, embed_dim), build=_head(draw, embed_dim, head_size))


@attention_head.group("cross-attention: other keys and values", points=1)
def cross_attention(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, other = draw.normal(2, batch, queries, embed_dim)
    key, value = draw.normal(2, batch, keys, embed_dim)
    yield case(query, key, value, build=_head(draw, embed_dim, head_size))
    yield case(query, key, build=_head(draw, embed_dim, head_size))
    yield case(query, key=other, build=_head(draw, embed_dim, head_size))
    yield case(query, value=other, build=_head(draw, embed_dim, head_size))


@attention_head.group("masks of all three shapes", points=1)
def masks(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    query[1], key[1] = query[0], key[0]  # the same text twice, under masks of their own
    for mask in (draw.mask(queries, keys), draw.mask(batch, 1, keys), draw.mask(batch, queries, keys)):
        yield case(query, key, mask=mask, build=_head(draw, embed_dim, head_size))
    yield case(query[:1], key[:1], mask=draw.mask(1, 1, keys), build=_head(draw, embed_dim, head_size))
    # As many sentences as queries: the mask still has a row for each query, and none for a sentence.
    query, key = draw.normal(queries, queries, embed_dim), draw.normal(queries, keys, embed_dim)
    yield case(query, key, mask=draw.mask(queries, keys), build=_head(draw, embed_dim, head_size))
    x = draw.normal(keys, keys, keys, dtype=torch.float64)
    for mask in (torch.ones(keys, keys).tril().bool(), draw.mask(keys, 1, keys)):
        yield case(x, mask=mask, build=_head(draw, keys, keys, torch.float64))


def _with_an_empty_row(draw, mask):
    mask[draw.integer(0, len(mask) - 1), draw.integer(0, mask.shape[1] - 1)] = False
    return mask


def _hidden_above(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key, mask = hidden_above(draw, batch, keys, embed_dim, queries=queries)
    layer = _head(draw, embed_dim, head_size)
    for_large_scores(layer.state, head_size)
    return case(query, key, mask=mask, build=layer)


@attention_head.group("nothing to attend to, and large scores", points=1)
def nothing_to_attend_to(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    for mask in (draw.mask(batch, queries, keys), draw.mask(batch, 1, keys)):
        yield case(query, key, mask=_with_an_empty_row(draw, mask), build=_head(draw, embed_dim, head_size))
    yield _hidden_above(draw)


@attention_head.group("gradients of inputs and of every projection", points=2)
def gradients(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    for dtype in FLOATS:
        query = draw.normal(batch, queries, embed_dim, dtype=dtype)
        key, value = draw.normal(2, batch, keys, embed_dim, dtype=dtype)
        mask = _with_an_empty_row(draw, draw.mask(batch, queries, keys))
        yield case(query, build=_head(draw, embed_dim, head_size, dtype), gradients=True)
        yield case(query, key, value, mask, build=_head(draw, embed_dim, head_size, dtype), gradients=True)


class _Head(nn.Module):
    """A correct layer: most mistakes below change one thing about it."""

    registered, bias, layers = NAMES, False, NAMES
    width, power, fill = "head_size", -0.5, -math.inf

    def __init__(self, embed_dim, head_size):
        super().__init__()
        self.sizes = {"embed_dim": embed_dim, "head_size": head_size}
        for name in self.registered:
            self.add_module(name, nn.Linear(embed_dim, head_size, bias=self.bias))

    def hide(self, scores, hidden):
        return scores.masked_fill(hidden, self.fill)

    def clear(self, weights, hidden):
        return weights.masked_fill(hidden, 0.0)

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return self.clear(self.hide(scores, ~mask).softmax(dim=-1), ~mask)

    def with_defaults(self, query, key, value):
        return query, *defaults(query, key, value)

    def forward(self, query, key=None, value=None, mask=None):
        parts = self.with_defaults(query, key, value)
        query, key, value = (getattr(self, name)(part) for name, part in zip(self.layers, parts))
        weights = self.weigh(query @ key.mT * self.sizes[self.width] ** self.power, mask)
        return weights @ value, weights


@attention_head.accepted_alternative(
    "The forward pass with named axes: b, q, k and d say which axes are multiplied, and the query is "
    "scaled before the product, while it is still small. The three projections are the same as yours."
)
class WithEinsumAndWhere(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        scores = torch.einsum("bqd,bkd->bqk", self.query(query) / self.query.out_features**0.5, self.key(key))
        mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        weights = torch.where(mask, torch.where(mask, scores, -torch.inf).softmax(dim=-1), 0.0)
        return torch.einsum("bqk,bkd->bqd", weights, self.value(key if value is None else value)), weights


@attention_head.accepted_alternative(
    "The values are projected after they are mixed. For a linear layer the order makes no difference, "
    "and with few queries and many keys it saves most of the work."
)
class MixesBeforeItProjects(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        asks = F.linear(query, self.query.weight) @ self.key.weight  # (B, T_q, E)
        scores = torch.bmm(asks, key.permute(0, 2, 1)).div_(math.sqrt(self.key.weight.size(0)))
        if mask is not None:
            scores.masked_fill_(mask.logical_not(), float("-inf"))
        weights = torch.nan_to_num(F.softmax(scores, dim=2))
        return self.value(weights @ (key if value is None else value)), weights
