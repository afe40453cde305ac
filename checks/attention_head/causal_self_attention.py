"""What the grader asks about `CausalSelfAttention`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.grading.exercise import Exercise, ask, build

causal_self_attention = Exercise(
    "CausalSelfAttention",
    results=("output", "weights"),
    axes=(("queries", "embed_dim"), ("queries", "keys")),
    weights=1,
    not_allowed=("fused_attention",),
)


def _layer(draw, embed_dim, block_size, dtype=torch.float32, **how):
    """A layer with the judge's weights, of a size that leaves every visible key some attention."""
    weight = draw.normal(3 * embed_dim, embed_dim, dtype=dtype) / math.sqrt(embed_dim)
    state = {"qkv.weight": weight, "qkv.bias": draw.normal(3 * embed_dim, dtype=dtype) / 4}
    return build(embed_dim, block_size, state=state, double=dtype == torch.float64, **how)


@causal_self_attention.group("one projection of three times the width", points=1)
def parameters(draw):
    embed_dim, block_size = draw.sizes(2)
    yield ask(build=build(embed_dim, block_size, look=("parameters",)))


@causal_self_attention.group("the mask: a boolean buffer, True = may attend", points=1)
def mask_buffer(draw):
    embed_dim, block_size = draw.sizes(2)
    yield ask(build=build(embed_dim, block_size, look=("buffers", "buffer values")))


@causal_self_attention.group("texts as long as the block, twice the same", points=1)
def full_texts(draw):
    batch, length, embed_dim = draw.sizes(3)
    for dtype in (torch.float32, torch.float64):
        x = draw.normal(batch, length, embed_dim, dtype=dtype)
        yield ask(x, build=_layer(draw, embed_dim, length, dtype, look=("result", "result again")))
    yield ask(draw.normal(length, length, length), build=_layer(draw, length, length, eval=True))


@causal_self_attention.group("shorter texts", points=1)
def shorter_texts(draw):
    batch, embed_dim, *lengths = draw.sizes(4)
    for dtype in (torch.float32, torch.float64):
        x = draw.normal(batch, min(lengths), embed_dim, dtype=dtype)
        yield ask(x, build=_layer(draw, embed_dim, max(lengths), dtype))
    yield ask(draw.normal(batch, 1, embed_dim), build=_layer(draw, embed_dim, max(lengths)))
    yield ask(draw.normal(batch, batch, batch), build=_layer(draw, batch, batch + 1))


@causal_self_attention.group("a text that is too long is refused", points=1)
def too_long(draw):
    batch, embed_dim, *lengths = draw.sizes(4)
    for length, block_size in ((max(lengths), min(lengths)), (embed_dim + 1, embed_dim), (max(lengths), 1)):
        made = _layer(draw, embed_dim, block_size)
        yield ask(draw.normal(batch, length, embed_dim), build=made, refuses=(length, block_size))


@causal_self_attention.group("gradients of the input and of the projection", points=2)
def gradients(draw):
    batch, embed_dim, *lengths = draw.sizes(4)
    for dtype in (torch.float32, torch.float64):
        x = draw.normal(batch, min(lengths), embed_dim, dtype=dtype)
        yield ask(x, build=_layer(draw, embed_dim, max(lengths), dtype), gradients=True)


class _Layer(nn.Module):
    """Right as it stands: most mistakes below change one thing about it."""

    thirds, power = (0, 1, 2), -0.5

    def __init__(self, embed_dim, block_size):
        super().__init__()
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.keep(torch.ones(block_size, block_size, dtype=torch.bool).tril())

    def keep(self, mask):
        self.register_buffer("mask", mask)

    def split(self, projected):
        return projected.chunk(3, dim=-1)

    def weigh(self, scores):
        length = scores.shape[-1]
        return scores.masked_fill(~self.mask[:length, :length], -math.inf).softmax(dim=-1)

    def forward(self, x):
        if x.shape[1] > len(self.mask):
            raise ValueError(f"{x.shape[1]} tokens do not fit into a block of {len(self.mask)}")
        parts = self.split(self.qkv(x))
        query, key, value = (parts[third] for third in self.thirds)
        weights = self.weigh(query @ key.mT * x.shape[-1] ** self.power)
        return weights @ value, weights


@causal_self_attention.mistake(
    "`mask` is a plain attribute: `buffers()` does not list it, and it stays behind when the module moves to "
    "another device. Register it as a buffer."
)
class mask_is_a_plain_attribute(_Layer):
    def keep(self, mask):
        self.mask = mask


@causal_self_attention.mistake(
    "`mask` is a parameter: an optimizer is handed it, and a count of the parameters includes it. Nobody "
    "wants to train it; register it as a buffer."
)
class mask_is_a_parameter(_Layer):
    def keep(self, mask):
        self.mask = nn.Parameter(mask, requires_grad=False)


@causal_self_attention.mistake(
    "The buffer `mask` holds floats, so that it follows every change of dtype and needs a comparison at each "
    "call. A mask says True or False: make it boolean before it is registered."
)
class mask_of_floats(_Layer):
    def keep(self, mask):
        self.register_buffer("mask", mask.float())

    def weigh(self, scores):
        length = scores.shape[-1]
        return scores.masked_fill(self.mask[:length, :length] == 0, -math.inf).softmax(dim=-1)


@causal_self_attention.mistake(
    "Results are right, but the buffer `mask` says True where a query may *not* look. In this course True "
    'means "may attend": on and below the diagonal.'
)
class mask_says_hidden(_Layer):
    def keep(self, mask):
        self.register_buffer("mask", ~mask)

    def weigh(self, scores):
        length = scores.shape[-1]
        return scores.masked_fill(self.mask[:length, :length], -math.inf).softmax(dim=-1)


@causal_self_attention.mistake(
    "A text shorter than `block_size` fails: the mask is (block_size, block_size), the scores are (T, T). "
    "Cut the mask to the first T queries and the first T keys at each call."
)
class mask_not_sliced(_Layer):
    def weigh(self, scores):
        return scores.masked_fill(~self.mask, -math.inf).softmax(dim=-1)


@causal_self_attention.mistake(
    "`mask` is the wrong way round: the queries see the future and not the past. It should be True on and "
    "below the diagonal, and False above it."
)
class mask_upside_down(_Layer):
    def keep(self, mask):
        self.register_buffer("mask", mask.T.contiguous())


@causal_self_attention.mistake(
    "Every query sees the whole text: `mask` is there, but it does not act on the scores. Hide the scores "
    "before the softmax, and mind that `masked_fill` returns a new tensor that has to be kept."
)
class mask_never_used(_Layer):
    def weigh(self, scores):
        return scores.softmax(dim=-1)


@causal_self_attention.mistake(
    "The order of the thirds is wrong: what you call the key is made by the rows of `qkv` that belong to the "
    "query, and the other way round. From first to last they are query, key, value."
)
class key_before_query(_Layer):
    thirds = (1, 0, 2)


@causal_self_attention.mistake(
    "The projection is cut along the tokens instead of the width: a third of the text becomes the query. "
    "Cut the last dimension, which is three times `embed_dim` wide, so that each part keeps all T tokens."
)
class cut_along_time(_Layer):
    def split(self, projected):
        return projected.chunk(3, dim=1)


@causal_self_attention.mistake(
    "The thirds are interleaved: query, key and value take turns at every third number. They stand in three "
    "blocks behind each other, each `embed_dim` wide."
)
class thirds_interleaved(_Layer):
    def split(self, projected):
        return projected.unflatten(-1, (-1, 3)).unbind(dim=-1)


@causal_self_attention.mistake(
    "The scores are not scaled, so the weights are too sharp. Queries and keys are `embed_dim` wide here: "
    "divide the scores by the square root of that."
)
class unscaled(_Layer):
    power = 0


@causal_self_attention.mistake(
    "A text longer than `block_size` is silently cut: it loses its last tokens, and nobody is told. Raise a "
    "ValueError whose sentence holds both numbers, T and `block_size`."
)
class too_long_is_cut(_Layer):
    def forward(self, x):
        return super().forward(x[:, : len(self.mask)])


@causal_self_attention.also_right
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


@causal_self_attention.also_right
class RowByRow(_Layer):
    def weigh(self, scores):
        rows = [scores[:, place, : place + 1].softmax(dim=-1) for place in range(scores.shape[1])]
        return torch.stack([F.pad(row, (0, scores.shape[2] - row.shape[1])) for row in rows], dim=1)


@causal_self_attention.also_right
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
