"""The exercise `EfficientMultiHeadAttention`, and the mistakes it can name."""

import math

import torch
import torch.nn.functional as F

from attention_lab.authoring import (
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    SmallLayerDraw,
    build,
    case,
    for_large_scores,
    hidden_above,
)
from attention_lab.authoring.layers import MultiHeadLayer as Right

efficient_multi_head_attention = Exercise(
    "EfficientMultiHeadAttention",
    results=("output", "weights"),
    axes=(("batch", "queries", "embedding"), ("batch", "queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
    draw=SmallLayerDraw,
)


def _draw_layer(draw, heads, head_size, bias=False, double=False):
    """The layer with weights of the judge's."""
    embed_dim = heads * head_size
    state = {}
    for name in ("query", "key", "value", "output"):
        state[f"{name}.weight"] = draw.linear(embed_dim, embed_dim)
        if bias:
            state[f"{name}.bias"] = draw.normal(embed_dim)
    given = {"bias": True} if bias else {}
    return build(embed_dim, heads, state=state, double=double, **given)


@efficient_multi_head_attention.group("self-attention, with and without bias", points=1)
def self_attention(draw):
    for bias, double in ((False, False), (True, False), (True, True)):
        heads, head_size, batch, length = draw.heads(2)
        dtype = torch.float64 if double else torch.float32
        x = draw.normal(batch, length, heads * head_size, dtype=dtype)
        yield case(x, build=_draw_layer(draw, heads, head_size, bias, double))


@efficient_multi_head_attention.group("other keys and values, unequal lengths", points=1)
def cross_attention(draw):
    heads, head_size, batch, queries, keys = draw.heads(3)
    embed_dim = heads * head_size
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    yield case(query, key, build=_draw_layer(draw, heads, head_size))
    value = draw.normal(batch, keys, embed_dim)
    yield case(query, key, value, build=_draw_layer(draw, heads, head_size, bias=True))
    yield case(query, draw.normal(*query.shape), build=_draw_layer(draw, heads, head_size))  # of equal length
    yield case(query, value=draw.normal(*query.shape), build=_draw_layer(draw, heads, head_size))


@efficient_multi_head_attention.group("masks of all three shapes", points=1)
def masks(draw):
    heads, head_size, batch, queries, keys = draw.heads(3)
    embed_dim = heads * head_size
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    query[1], key[1] = query[0], key[0]  # the same text twice, under masks of their own
    for shape in ((queries, keys), (batch, 1, keys), (batch, queries, keys)):
        yield case(query, key, mask=draw.mask(*shape), build=_draw_layer(draw, heads, head_size))


@efficient_multi_head_attention.group("equal sizes: as many sentences as heads, as many tokens", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    for shape in ((4, 1, size), (4, size, size), (size, size)):
        x = draw.normal(4, size, 4 * size)
        yield case(x, mask=draw.mask(*shape), build=_draw_layer(draw, 4, size))  # B = H, T = D
    yield case(draw.normal(5, 5, 25), mask=draw.mask(5, 5, 5), build=_draw_layer(draw, 5, 5, bias=True))
    yield case(
        draw.normal(5, 5, 25), mask=draw.mask(5, 5), build=_draw_layer(draw, 5, 5)
    )  # B = T, a row per query
    yield case(draw.normal(2, size, size), build=_draw_layer(draw, 1, size))  # one head
    yield case(draw.normal(1, size, 4 * size), mask=draw.mask(1, 1, size), build=_draw_layer(draw, 4, size))
    yield case(draw.normal(1, 1, size), build=_draw_layer(draw, 1, size))


def _hidden_above(draw):
    heads, head_size, batch, queries, keys = draw.heads(3)
    query, key, mask = hidden_above(draw, batch, keys, heads * head_size, queries=queries)
    layer = _draw_layer(draw, heads, head_size)
    for_large_scores(layer.state, head_size)
    return case(query, key, mask=mask, build=layer)


@efficient_multi_head_attention.group("nothing to attend to, large scores, gradients", points=2)
def gradients(draw):
    yield _hidden_above(draw)
    for double in (False, True):
        heads, head_size, batch, length = draw.heads(2)
        x = draw.normal(batch, length, heads * head_size, dtype=torch.float64 if double else torch.float32)
        mask = draw.mask(batch, length, length)
        yield case(x, mask=mask, build=_draw_layer(draw, heads, head_size, double=double), gradients=True)
        mask = mask.clone()
        mask[draw.integer(0, batch - 1), draw.integer(0, length - 1)] = False
        yield case(x, mask=mask, build=_draw_layer(draw, heads, head_size, True, double), gradients=True)


@efficient_multi_head_attention.group("its parameters", points=0.5)
def parameters(draw):
    for bias in ({}, {"bias": True}):
        heads, head_size = draw.heads()
        yield case(build=build(heads * head_size, heads, **bias, look=("parameters",)))


@efficient_multi_head_attention.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    heads, head_size, batch, length = draw.heads(2)
    fresh = build(heads * head_size, heads, bias=True, look=("result", "state"))
    yield case(draw.normal(batch, length, heads * head_size), build=fresh)


@efficient_multi_head_attention.group("a width that is not divisible by the number of heads", points=1)
def refusals(draw):
    embed_dim, heads = draw.indivisible()
    yield case(build=build(embed_dim, heads, look=()), refuses=(embed_dim, heads))


@efficient_multi_head_attention.accepted_alternative(
    "The attention between the two reshapes with named axes: in scores and output, b and h are only "
    "carried along. (Only this step is shown.)"
)
class ByEinsum(Right):
    def attend(self, query, key, value, mask):
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * key.shape[-1] ** -0.5
        if mask is None:
            mask = torch.ones(scores.shape[-2:], dtype=torch.bool)
        mask = mask[None, None] if mask.dim() == 2 else mask[:, None]
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num(0.0)
        return torch.einsum("bhqk,bhkd->bhqd", weights, value), weights


@efficient_multi_head_attention.accepted_alternative(
    "Each head is treated as a text of its own, so three axes are enough and bmm, torch's product of "
    "batches of matrices, does both steps. Torch's own layer works like this. The price: a mask must be "
    "repeated in the right order. (Only this step is shown.)"
)
class HeadsFoldedIntoTheBatch(Right):
    """As torch itself does it."""

    def attend(self, query, key, value, mask):
        batch, heads, length, _ = query.shape
        query, key, value = (x.flatten(0, 1) for x in (query, key, value))
        scores = torch.bmm(query / math.sqrt(query.shape[-1]), key.transpose(1, 2))
        if mask is not None:
            mask = mask.expand(batch, length, key.shape[1]).repeat_interleave(heads, dim=0)
            scores.masked_fill_(~mask, -math.inf)
        weights = F.softmax(scores, -1)
        if mask is not None:
            weights = torch.where(mask, weights, torch.zeros_like(weights))
        return torch.bmm(weights, value).unflatten(0, (batch, heads)), weights.unflatten(0, (batch, heads))
