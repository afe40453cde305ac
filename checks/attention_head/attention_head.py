"""What the grader asks about `AttentionHead`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.grading.exercise import Exercise, ask, build

attention_head = Exercise(
    "AttentionHead",
    results=("output", "weights"),
    axes=(("queries", "head size"), ("queries", "keys")),
    weights=1,
    not_allowed=("fused_attention",),
)

NAMES = ("query", "key", "value")


def _head(draw, embed_dim, head_size, dtype=torch.float32, **how):
    """A head with the judge's weights, of a size that leaves every key some attention."""
    shape, root = (head_size, embed_dim), math.sqrt(embed_dim)
    state = {f"{name}.weight": draw.normal(*shape, dtype=dtype) / root for name in NAMES}
    return build(embed_dim, head_size, state=state, double=dtype == torch.float64, **how)


@attention_head.group("three projections without a bias, registered", points=1)
def parameters(draw):
    embed_dim, head_size, batch, length = draw.sizes(4)
    yield ask(build=build(embed_dim, head_size, look=("parameters",)))
    zeros = torch.zeros(batch, length, embed_dim)  # the same for all fresh weights: comparable
    yield ask(zeros, build=build(embed_dim, head_size, look=("result", "parameters")))


@attention_head.group("self-attention, twice the same", points=2)
def self_attention(draw):
    batch, length, embed_dim, head_size = draw.sizes(4)
    for dtype in (torch.float32, torch.float64):
        x = draw.normal(batch, length, embed_dim, dtype=dtype)
        yield ask(x, build=_head(draw, embed_dim, head_size, dtype, look=("result", "result again")))
    yield ask(draw.normal(length, length, length), build=_head(draw, length, length, eval=True))


@attention_head.group("cross-attention: other keys and values", points=1)
def cross_attention(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, other = draw.normal(2, batch, queries, embed_dim)
    key, value = draw.normal(2, batch, keys, embed_dim)
    yield ask(query, key, value, build=_head(draw, embed_dim, head_size))
    yield ask(query, key, build=_head(draw, embed_dim, head_size))
    yield ask(query, key=other, build=_head(draw, embed_dim, head_size))


@attention_head.group("masks of all three shapes", points=1)
def masks(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    for mask in (draw.mask(queries, keys), draw.mask(batch, 1, keys), draw.mask(batch, queries, keys)):
        yield ask(query, key, mask=mask, build=_head(draw, embed_dim, head_size))
    x = draw.normal(keys, keys, keys, dtype=torch.float64)
    for mask in (torch.ones(keys, keys).tril().bool(), draw.mask(keys, 1, keys)):
        yield ask(x, mask=mask, build=_head(draw, keys, keys, torch.float64))


def _with_an_empty_row(draw, mask):
    mask[draw.integer(0, len(mask) - 1), draw.integer(0, mask.shape[1] - 1)] = False
    return mask


@attention_head.group("nothing to attend to", points=1)
def nothing_to_attend_to(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    for mask in (draw.mask(batch, queries, keys), draw.mask(batch, 1, keys)):
        yield ask(query, key, mask=_with_an_empty_row(draw, mask), build=_head(draw, embed_dim, head_size))


@attention_head.group("gradients of inputs and of every projection", points=2)
def gradients(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    for dtype in (torch.float32, torch.float64):
        query = draw.normal(batch, queries, embed_dim, dtype=dtype)
        key, value = draw.normal(2, batch, keys, embed_dim, dtype=dtype)
        mask = _with_an_empty_row(draw, draw.mask(batch, queries, keys))
        yield ask(query, build=_head(draw, embed_dim, head_size, dtype), gradients=True)
        yield ask(query, key, value, mask, build=_head(draw, embed_dim, head_size, dtype), gradients=True)


class _Head(nn.Module):
    """Right as it stands: most mistakes below change one thing about it."""

    registered, bias, layers = NAMES, False, NAMES
    width, power, clear = "head_size", -0.5, True

    def __init__(self, embed_dim, head_size):
        super().__init__()
        self.sizes = {"embed_dim": embed_dim, "head_size": head_size}
        for name in self.registered:
            self.add_module(name, nn.Linear(embed_dim, head_size, bias=self.bias))

    def weigh(self, scores, mask):
        hidden = torch.tensor(False) if mask is None else ~mask
        weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)
        return weights.masked_fill(hidden, 0.0) if self.clear else weights

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        parts = (query, key, key if value is None else value)
        query, key, value = (getattr(self, name)(part) for name, part in zip(self.layers, parts))
        weights = self.weigh(query @ key.mT * self.sizes[self.width] ** self.power, mask)
        return weights @ value, weights


@attention_head.mistake(
    "The head has no parameters: nothing in it is trained or saved. Neither a bare tensor nor a layer that "
    "lives only inside `forward` is registered: make three layers in `__init__` and keep them as attributes."
)
class nothing_registered(_Head):
    registered = ()

    def __init__(self, embed_dim, head_size):
        super().__init__(embed_dim, head_size)
        for name in NAMES:
            weight = torch.randn(embed_dim, head_size)
            setattr(self, name, lambda x, weight=weight: x @ weight.to(x.dtype))


@attention_head.mistake(
    "The layers are built in `forward`: a new head has no parameters, and each call draws new random ones, "
    "so two calls on the same text differ. Build `query`, `key` and `value` once, in `__init__`."
)
class layers_built_in_forward(_Head):
    registered = ()

    def forward(self, query, *others, **named):
        for name in NAMES:
            self.add_module(name, nn.Linear(*self.sizes.values(), bias=False, dtype=query.dtype))
        return super().forward(query, *others, **named)


@attention_head.mistake(
    "The projections have a bias: `query.bias`, `key.bias` and `value.bias` are parameters too many. "
    "A linear layer adds one unless it is told not to."
)
class bias_left_on(_Head):
    bias = True


@attention_head.mistake(
    "The keys are made by the query's projection: changing the weights of `key` changes nothing. "
    "Each of the three inputs goes through the layer of its own name."
)
class key_by_the_query_projection(_Head):
    layers = ("query", "query", "value")


@attention_head.mistake(
    "The weights are right, but `output` mixes the values as they came in: it is `embed_dim` wide instead "
    "of `head_size`, and the layer `value` is never used. Project the values too."
)
class values_not_projected(_Head):
    layers = ("query", "key", "forget")
    forget = staticmethod(lambda value: value)


@attention_head.mistake(
    "Where `value` is None, the queries were used in its place. What is retrieved belongs to the keys: "
    "the default of `value` is `key`."
)
class value_defaults_to_query(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        return super().forward(query, key, query if value is None else value, mask)


@attention_head.mistake(
    "The scores are not scaled, so the weights are too sharp. Projected queries and keys are `head_size` "
    "wide: divide the scores by the square root of that."
)
class unscaled(_Head):
    power = 0


@attention_head.mistake(
    "The scores are divided by the square root of `embed_dim`. A score sums as many products as the "
    "*projected* query is wide, and that is `head_size`."
)
class scaled_by_embed_dim(_Head):
    width = "embed_dim"


@attention_head.mistake(
    "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
    "softmax, and mind that a method like `masked_fill` returns a new tensor that has to be kept."
)
class mask_ignored(_Head):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1)


@attention_head.mistake(
    'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
    'attend", so it is the False entries that have to be hidden.'
)
class true_means_hidden(_Head):
    def weigh(self, scores, mask):
        return super().weigh(scores, None if mask is None else ~mask)


@attention_head.mistake(
    "A query with nothing to attend to is NaN: a row of nothing but -inf cannot be normalised. Clear the "
    "hidden weights after the softmax, before they meet the values."
)
class empty_row_is_nan(_Head):
    clear = False


@attention_head.also_right
class WithEinsumAndWhere(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        scores = torch.einsum("bqd,bkd->bqk", self.query(query) / self.query.out_features**0.5, self.key(key))
        mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        weights = torch.where(mask, torch.where(mask, scores, -torch.inf).softmax(dim=-1), 0.0)
        return torch.einsum("bqk,bkd->bqd", weights, self.value(key if value is None else value)), weights


@attention_head.also_right
class TextByText(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = self.value(key if value is None else value)
        masks = [mask] * len(query) if mask is None or mask.dim() == 2 else mask
        asked = zip(self.query(query) / math.sqrt(value.shape[-1]), self.key(key), masks, strict=True)
        weights = torch.stack([self.weigh(one @ other.T, visible) for one, other, visible in asked])
        return weights @ value, weights


@attention_head.also_right
class MixesBeforeItProjects(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        asks = F.linear(query, self.query.weight) @ self.key.weight  # (B, T_q, E)
        scores = torch.bmm(asks, key.permute(0, 2, 1)).div_(math.sqrt(self.key.weight.size(0)))
        if mask is not None:
            scores.masked_fill_(mask.logical_not(), float("-inf"))
        weights = torch.nan_to_num(F.softmax(scores, dim=2))
        return self.value(weights @ (key if value is None else value)), weights
