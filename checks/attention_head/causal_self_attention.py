"""The exercise `CausalSelfAttention`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import (
    FLOATS,
    FUSED_ATTENTION,
    LARGEST_SCORE,
    SUMS_OF_PRODUCTS,
    Exercise,
    build,
    case,
)

causal_self_attention = Exercise(
    "CausalSelfAttention",
    results=("output", "weights"),
    axes=(("queries", "embed_dim"), ("queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
)


def _layer(draw, embed_dim, block_size, dtype=torch.float32, **how):
    """A layer with the judge's weights, of a size that leaves every visible key some attention."""
    weight = draw.normal(3 * embed_dim, embed_dim, dtype=dtype) / math.sqrt(embed_dim)
    state = {"qkv.weight": weight, "qkv.bias": draw.normal(3 * embed_dim, dtype=dtype) / 4}
    return build(embed_dim, block_size, state=state, double=dtype == torch.float64, **how)


@causal_self_attention.group("one projection of three times the width", points=0.5)
def parameters(draw):
    embed_dim, block_size = draw.sizes(2)
    yield case(build=build(embed_dim, block_size, look=("parameters",)))


@causal_self_attention.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    batch, embed_dim, *lengths = draw.sizes(4)
    fresh = build(embed_dim, max(lengths), look=("result", "state"))
    yield case(draw.normal(batch, min(lengths), embed_dim), build=fresh)


@causal_self_attention.group("the mask: a boolean buffer, True = may attend", points=1)
def mask_buffer(draw):
    embed_dim, block_size = draw.sizes(2)
    yield case(build=build(embed_dim, block_size, look=("buffers", "buffer values")))


def _hidden_above(draw):
    """Scores that rise with the key's place, from -1e4 to 1e4: whatever is hidden is above what is seen."""
    batch, length, embed_dim = draw.sizes(3)
    layer = _layer(draw, embed_dim, length)
    x = draw.normal(batch, length, embed_dim)
    x[..., 0], x[..., 1] = torch.linspace(-1, 1, length), 1.0
    weight, bias = layer.state["qkv.weight"], layer.state["qkv.bias"]
    for row, column in ((0, 1), (embed_dim, 0)):  # the first of the query, and of the key
        weight[row], bias[row] = 0.0, 0.0
        weight[row, column] = math.sqrt(LARGEST_SCORE * math.sqrt(embed_dim))
    return case(x, build=layer)


@causal_self_attention.group("texts as long as the block, twice the same, large scores too", points=1)
def full_texts(draw):
    batch, length, embed_dim = draw.sizes(3)
    for dtype in FLOATS:
        x = draw.normal(batch, length, embed_dim, dtype=dtype)
        yield case(x, build=_layer(draw, embed_dim, length, dtype, look=("result", "result again")))
    yield case(draw.normal(length, length, length), build=_layer(draw, length, length, eval=True))
    yield _hidden_above(draw)


@causal_self_attention.group("shorter texts", points=1)
def shorter_texts(draw):
    batch, embed_dim, *lengths = draw.sizes(4)
    for dtype in FLOATS:
        x = draw.normal(batch, min(lengths), embed_dim, dtype=dtype)
        yield case(x, build=_layer(draw, embed_dim, max(lengths), dtype))
    for count in (batch, 1):
        yield case(draw.normal(count, 1, embed_dim), build=_layer(draw, embed_dim, max(lengths)))
    yield case(draw.normal(batch, batch, batch), build=_layer(draw, batch, batch + 1))


@causal_self_attention.group("a text that is too long is refused", points=1)
def too_long(draw):
    batch, embed_dim, *lengths = draw.sizes(4)
    (full,) = draw.even_sizes(1)
    for length, block_size in ((max(lengths), min(lengths)), (full + 1, full), (max(lengths), 1)):
        layer = _layer(draw, embed_dim, block_size)
        yield case(draw.normal(batch, length, embed_dim), build=layer, refuses=(length, block_size))


@causal_self_attention.group("gradients of the input and of the projection", points=2)
def gradients(draw):
    batch, embed_dim, *lengths = draw.sizes(4)
    for dtype in FLOATS:
        x = draw.normal(batch, min(lengths), embed_dim, dtype=dtype)
        yield case(x, build=_layer(draw, embed_dim, max(lengths), dtype), gradients=True)


class _Layer(nn.Module):
    """A correct layer: most mistakes below change one thing about it."""

    thirds, power, fill = (0, 1, 2), -0.5, -math.inf

    def __init__(self, embed_dim, block_size):
        super().__init__()
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.keep(torch.ones(block_size, block_size, dtype=torch.bool).tril())

    def keep(self, mask):
        self.register_buffer("mask", self.table(mask))

    def table(self, mask):
        return mask

    def seen(self, length):
        return self.mask[:length, :length]

    def split(self, projected):
        return projected.chunk(3, dim=-1)

    def weigh(self, scores):
        return scores.masked_fill(~self.seen(scores.shape[-1]), self.fill).softmax(dim=-1)

    def refuse(self, length):
        if length > len(self.mask):
            raise ValueError(f"{length} tokens do not fit into a block of {len(self.mask)}")

    def forward(self, x):
        self.refuse(x.shape[1])
        parts = self.split(self.qkv(x))
        query, key, value = (parts[third] for third in self.thirds)
        weights = self.weigh(query @ key.mT * x.shape[-1] ** self.power)
        return weights @ value, weights


@causal_self_attention.accepted_alternative
class WithSplitAndComparedRanges(_Layer):
    def keep(self, mask):
        places = torch.arange(len(mask))
        self.register_buffer("mask", places.unsqueeze(1) >= places, persistent=False)

    def split(self, projected):
        return projected.split(projected.shape[-1] // 3, dim=2)

    def weigh(self, scores):
        length = scores.shape[-1]
        weights = scores.masked_fill_(self.mask[:length, :length].logical_not(), -1e9).softmax(dim=-1)
        return weights * self.mask[:length, :length]


@causal_self_attention.accepted_alternative(
    "No mask and no -inf: each row is a softmax over what it may see, and zeros are appended. The "
    "plainest way to say what causal means, and slow, because it loops in Python. (Only `weigh`, the "
    "step from scores to weights, is shown.)"
)
class RowByRow(_Layer):
    def weigh(self, scores):
        rows = [scores[:, place, : place + 1].softmax(dim=-1) for place in range(scores.shape[1])]
        return torch.stack([F.pad(row, (0, scores.shape[2] - row.shape[1])) for row in rows], dim=1)


@causal_self_attention.accepted_alternative(
    "The fused weight is cut instead of its result: three products from one parameter. Good when you "
    "need only one of the three, for example the query beside a cache of keys and values. Otherwise one "
    "product would be enough."
)
class ThreeProductsFromOneLayer(_Layer):
    def forward(self, x):
        block_size, length = self.mask.shape[0], x.shape[1]
        if length > block_size:
            raise ValueError(f"block_size is {block_size}, the text has {length} tokens")
        parts = zip(self.qkv.weight.chunk(3), self.qkv.bias.chunk(3))
        query, key, value = (F.linear(x, weight, bias) for weight, bias in parts)
        scores = torch.einsum("bqe,bke->bqk", query * x.shape[2] ** -0.5, key)
        weights = torch.where(self.mask[None, :length, :length], scores, -torch.inf).softmax(dim=2)
        return torch.bmm(weights, value), weights
