"""The exercise `GroupedQueryAttention`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn

from attention_lab.authoring import (
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    LayerDraw,
    add_mistakes,
    build,
    case,
    hidden_above,
)
from attention_lab.authoring.layers import MultiHeadLayer
from attention_lab.authoring.mask_sentences import (
    EMPTY_ROW_IS_UNIFORM,
    FIXED_LOW_SCORE,
    HIDDEN_SCORES_ARE_ZERO,
)

grouped_query_attention = Exercise(
    "GroupedQueryAttention",
    results=("output", "weights"),
    axes=(("batch", "queries", "embedding"), ("batch", "queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
    draw=LayerDraw,
)


def _sizes(draw, count, groups=2):
    """Query heads, key/value heads, head size and `count` more: all different."""
    kv_heads, head_size, *others = draw.heads(count + 1)
    heads = groups * kv_heads
    return heads, kv_heads, head_size, *[size for size in others if size != heads][:count]


def _draw_layer(draw, heads, kv_heads, head_size, bias=False, double=False):
    """The layer with weights of the judge's."""
    width, kv_width = heads * head_size, kv_heads * head_size
    state = {}
    for name, rows in (("query", width), ("key", kv_width), ("value", kv_width), ("output", width)):
        state[f"{name}.weight"] = draw.linear(rows, width)
        if bias:
            state[f"{name}.bias"] = draw.normal(rows)
    given = {"bias": True} if bias else {}
    return build(width, heads, kv_heads, state=state, double=double, **given)


@grouped_query_attention.group("fewer keys and values than queries", points=2)
def fewer(draw):
    for bias, double, groups in ((False, False, 2), (True, False, 3), (True, True, 2)):
        heads, kv_heads, head_size, batch, length = _sizes(draw, 2, groups)
        dtype = torch.float64 if double else torch.float32
        x = draw.normal(batch, length, heads * head_size, dtype=dtype)
        yield case(x, build=_draw_layer(draw, heads, kv_heads, head_size, bias, double))


@grouped_query_attention.group("as many keys as queries: lesson 6's layer", points=1)
def multi_head(draw):
    heads, head_size, batch, length = draw.heads(2)
    for bias in (False, True):
        x = draw.normal(batch, length, heads * head_size)
        yield case(x, build=_draw_layer(draw, heads, heads, head_size, bias))


@grouped_query_attention.group("one key/value head for all", points=1)
def multi_query(draw):
    heads, head_size, batch, length = draw.heads(2)
    for bias in (False, True):
        x = draw.normal(batch, length, heads * head_size)
        yield case(x, build=_draw_layer(draw, heads, 1, head_size, bias))


@grouped_query_attention.group("masks of all three shapes", points=1)
def masks(draw):
    heads, kv_heads, head_size, batch, length = _sizes(draw, 2)
    x = draw.normal(batch, length, heads * head_size)
    x[1] = x[0]  # the same text twice, under masks of their own
    for shape in ((length, length), (batch, 1, length), (batch, length, length)):
        yield case(x, mask=draw.mask(*shape), build=_draw_layer(draw, heads, kv_heads, head_size))


@grouped_query_attention.group("equal sizes: as many sentences as heads, as many tokens", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    for shape in ((4, 1, size), (4, size, size), (size, size)):
        yield case(draw.normal(4, size, 4 * size), draw.mask(*shape), build=_draw_layer(draw, 4, 2, size))
    yield case(draw.normal(2, 4, 16), draw.mask(2, 4, 4), build=_draw_layer(draw, 4, 2, 4, bias=True))
    yield case(
        draw.normal(5, 5, 12), draw.mask(5, 5), build=_draw_layer(draw, 4, 2, 3)
    )  # B = T, a row per query
    yield case(draw.normal(4, 3, 8 * size), build=_draw_layer(draw, 8, 4, size))
    yield case(draw.normal(2, size, size), build=_draw_layer(draw, 1, 1, size))  # one head
    yield case(draw.normal(1, 1, size), build=_draw_layer(draw, 1, 1, size))
    yield case(draw.normal(1, size, 4 * size), draw.mask(1, 1, size), build=_draw_layer(draw, 4, 2, size))


def _hidden_above(draw):
    """Scores of ±1e4, the largest where the mask hides; each head's by the first number of its keys."""
    heads, kv_heads, head_size, batch, length = _sizes(draw, 2)
    query, key, mask = hidden_above(draw, batch, length, heads * head_size, queries=length)
    layer = _draw_layer(draw, heads, kv_heads, head_size)
    root = math.sqrt(1e4 * math.sqrt(head_size))
    for name, column in (("query", 0), ("key", 1)):
        layer.state[f"{name}.weight"][::head_size] = 0.0
        layer.state[f"{name}.weight"][::head_size, column] = root
    x = query.clone()
    x[..., 1] = key[..., 0]
    return case(x, mask, build=layer)


@grouped_query_attention.group("nothing to attend to, large scores, gradients", points=2)
def gradients(draw):
    yield _hidden_above(draw)
    for empty_row, double in ((False, True), (True, False), (True, True)):
        heads, kv_heads, head_size, batch, length = _sizes(draw, 2)
        x = draw.normal(batch, length, heads * head_size, dtype=torch.float64 if double else torch.float32)
        mask = draw.mask(batch, length, length)
        if empty_row:
            mask[draw.integer(0, batch - 1), draw.integer(0, length - 1)] = False
        layer = _draw_layer(draw, heads, kv_heads, head_size, bias=empty_row, double=double)
        yield case(x, mask=mask, build=layer, gradients=True)


def state_of(answer):
    """The names in a layer's state_dict, with their shapes in words."""

    def named(embed_dim, heads, kv_heads, bias):
        layer = answer(embed_dim, heads, kv_heads, **({"bias": True} if bias else {}))
        return {name: f"shape {tuple(entry.shape)}" for name, entry in layer.state_dict().items()}

    return named


@grouped_query_attention.group("its parameters, and nothing else in its state_dict", points=0.5)
def parameters(draw):
    for bias in ({}, {"bias": True}):
        heads, kv_heads, head_size = _sizes(draw, 0)
        yield case(build=build(heads * head_size, heads, kv_heads, **bias, look=("parameters",)))
        yield case(heads * head_size, heads, kv_heads, bool(bias), through=state_of)


@grouped_query_attention.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    heads, kv_heads, head_size, batch, length = _sizes(draw, 2)
    fresh = build(heads * head_size, heads, kv_heads, bias=True, look=("result", "state"))
    yield case(draw.normal(batch, length, heads * head_size), build=fresh)


@grouped_query_attention.group("query heads that are not divisible by the key/value heads", points=1)
def refusals(draw):
    embed_dim, heads = draw.indivisible()
    yield case(build=build(embed_dim, heads, heads, look=()), refuses=(embed_dim, heads))
    heads, kv_heads = draw.indivisible()
    other = next(size for size in draw.sizes(4) if heads * size % kv_heads)
    for head_size in (other, kv_heads):  # the second width divides by the key/value heads as well
        layer = build(heads * head_size, heads, kv_heads, look=())
        yield case(build=layer, refuses=(heads, kv_heads))


class Right(MultiHeadLayer):
    """A correct layer; each mistake changes one thing about it."""

    def __init__(self, embed_dim, num_heads, num_kv_heads, bias=False):
        self.refuse_groups(num_heads, num_kv_heads)
        super().__init__(embed_dim, num_heads, bias, embed_dim // num_heads * num_kv_heads)
        self.num_kv_heads = num_kv_heads

    def refuse_groups(self, num_heads, num_kv_heads):
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} keys and values evenly")

    def split(self, x, heads):
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def split_values(self, x, heads):
        return self.split(x, heads)

    def share(self, x):
        """(B, H_kv, T, D) -> (B, H, T, D)"""
        return x.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def share_values(self, x):
        return self.share(x)

    def forward(self, x, mask=None):
        query = self.split(self.query(x), self.num_heads)
        key = self.share(self.split(self.key(x), self.num_kv_heads))
        value = self.share_values(self.split_values(self.value(x), self.num_kv_heads))
        outputs, weights = self.attend(query, key, value, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)


@grouped_query_attention.accepted_alternative(
    "Nothing is copied: the queries get an axis for their group, and one key/value head is broadcast over"
    " it. This is what saves memory where keys come from a cache. (Only this step is shown.)"
)
class ByBroadcasting(Right):
    def share(self, x):
        return x

    def attend(self, query, key, value, mask):
        grouped = query.unflatten(1, (self.num_kv_heads, -1))  # (B, H_kv, G, T, D)
        if mask is not None:
            mask = mask[None, None] if mask.dim() == 2 else mask[:, None, None]
        outputs, weights = self.weigh(grouped, key[:, :, None], value[:, :, None], mask)
        return outputs.flatten(1, 2), weights.flatten(1, 2)

    def weigh(self, query, key, value, mask):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is None:
            weights = scores.softmax(-1)
        else:
            weights = scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)
        return weights @ value, weights


@grouped_query_attention.accepted_alternative(
    "Named axes tell the group g from the key/value head k: the keys have no g, so they are shared by all"
    " of it. (Only this step is shown.)"
)
class ByEinsum(Right):
    def share(self, x):
        return x

    def attend(self, query, key, value, mask):
        grouped = query.unflatten(1, (self.num_kv_heads, -1)) * query.shape[-1] ** -0.5
        scores = torch.einsum("bkgqd,bktd->bkgqt", grouped, key).flatten(1, 2)  # (B, H, T, T)
        mask = torch.tensor(True) if mask is None else mask.unsqueeze(-3)
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(~mask, 0)
        parted = weights.unflatten(1, (self.num_kv_heads, -1))
        return torch.einsum("bkgqt,bktd->bkgqd", parted, value).flatten(1, 2), weights


@grouped_query_attention.accepted_alternative
class SharesTheWeights(Right):
    """Repeats the rows of the projections instead of their results: every query head gets keys of its own."""

    def forward(self, x, mask=None):
        query = self.split(self.query(x), self.num_heads)
        key, value = (self.split(self.widened(layer, x), self.num_heads) for layer in (self.key, self.value))
        outputs, weights = self.attend(query, key, value, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)

    def widened(self, layer, x):
        groups, size = self.num_heads // self.num_kv_heads, layer.out_features // self.num_kv_heads
        rows = torch.arange(layer.out_features).view(-1, size).repeat_interleave(groups, 0).flatten()
        bias = None if layer.bias is None else layer.bias[rows]
        return nn.functional.linear(x, layer.weight[rows], bias)


def _as_wide_as_queries(self, embed_dim, num_heads, num_kv_heads, bias=False):
    self.refuse_groups(num_heads, num_kv_heads)
    Right.__init__(self, embed_dim, num_heads, num_heads, bias)


add_mistakes(
    grouped_query_attention,
    Right,
    RepeatsWholeRows=(
        "The heads are shared in the wrong order: query head h uses key/value head h % H_kv, as `repeat` "
        "lays them out. It should be h // groups, neighbours together: repeat each head by itself "
        "(`repeat_interleave`).",
        {"share": lambda self, x: x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)},
    ),
    ValuesInAnotherOrder=(
        "Keys and values are repeated in different orders, so a head takes its weights from one key/value "
        "head and its values from another. Query head h uses head h // groups of both.",
        {"share_values": lambda self, x: x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)},
    ),
    RepeatsNothing=(
        "Right with one key/value head, which broadcasting repeats by itself, and with as many as query "
        "heads; a number between stops. Repeat each key/value head for the query heads of its group.",
        {"share": lambda self, x: x},
    ),
    KeysAsWideAsQueries=(
        "`key` and `value` map E to E numbers, as in lesson 6 (or their head size is E / H_kv), so nothing "
        "is saved. They have H_kv heads of D numbers: map E to H_kv · D.",
        {"__init__": _as_wide_as_queries},
    ),
    SplitsWithoutTranspose=(
        "The heads are cut with a view alone: it gives the shape (B, H, T, D) and puts the first tokens "
        "whole into head 0. Cut into (heads, D) first, then swap T and the heads.",
        {"split": lambda self, x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1)},
    ),
    MergesWithoutTranspose=(
        "`weights` are right, `output` is not: the heads are merged without swapping T and H back. Swap "
        "first, then join the heads.",
        {"merge": lambda self, x: x.reshape(x.shape[0], x.shape[2], -1)},
    ),
    ForgetsTheOutputProjection=(
        "The merged heads are returned as they are: `self.output` is made and never used. Send them through "
        "it.",
        {"finish": lambda self, merged: merged},
    ),
    RefusesNoGroups=(
        "A number of query heads that is not divisible by the number of key/value heads is not refused. "
        "Where `num_heads % num_kv_heads` is not 0, raise a ValueError that names both.",
        {"refuse_groups": lambda self, num_heads, num_kv_heads: None},
    ),
    RefusesNoWidth=(
        "A width that is not divisible by the number of heads is not refused. Where `embed_dim % num_heads` "
        "is not 0, raise a ValueError that names both.",
        {"refuse": lambda self, embed_dim, num_heads: None},
    ),
    BiasIgnored=(
        "`bias=True` changes nothing: the projections are made without one. Pass `bias` to all four.",
        {"biased": lambda self, bias: False},
    ),
    WeightsSummed=(
        "`weights` are the sum over the heads, so their rows sum to H instead of 1. The average is wanted: "
        "`mean`.",
        {"over_heads": lambda self, weights: weights.sum(dim=1)},
    ),
    WeightsOfTheFirstHead=(
        "`weights` are those of head 0 only. Return their average over all heads.",
        {"over_heads": lambda self, weights: weights[:, 0]},
    ),
    WeightsOfOneHeadAGroup=(
        "`weights` are the average over one head of each group. Heads that share keys still have queries and "
        "weights of their own: average over all H heads.",
        {"over_heads": lambda self, weights: weights[:, :: self.num_heads // self.num_kv_heads].mean(dim=1)},
    ),
    WeightsOfAllHeads=(
        "You return the weights of all heads, (B, H, T, T). Return their average over the heads, (B, T, T).",
        {"over_heads": lambda self, weights: weights},
    ),
    WeightsOfAsManyHeadsAsKeys=(
        "`weights` are the average over the first H_kv heads only. Each of the H query heads has weights of "
        "its own, also where heads share keys and values: average over all H.",
        {"over_heads": lambda self, weights: weights[:, : self.num_kv_heads].mean(dim=1)},
    ),
    AveragedOverTheKeyHeads=(
        "The sum of the weights over the heads is divided by the number of key/value heads. It is the query "
        "heads that are averaged over: divide by `num_heads`.",
        {"over_heads": lambda self, weights: weights.sum(dim=1) / self.num_kv_heads},
    ),
    Unscaled=(
        "The scores are not scaled, so the weights are far too sharp. Divide by the root of the head size.",
        {"scale": lambda self, head_size: 1.0},
    ),
    ScaledByTheGroup=(
        "The scores are divided by the root of H / H_kv, the number of query heads for each key head. How "
        "large a dot product grows depends on how many products it sums, the head size D = E / H: divide by "
        "the root of D.",
        {"scale": lambda self, head_size: math.sqrt(self.num_heads // self.num_kv_heads)},
    ),
    NoMask=(
        "Nothing is hidden: a token sees those that come after it. This does not show when you generate one "
        "token at a time, but it does in a prompt. New token i may see the past and the new ones up to "
        "itself.",
        {"attend": lambda self, query, key, value, mask: Right.attend(self, query, key, value, None)},
    ),
    MaskNotLifted=(
        "A mask of three axes meets the wrong axes of the scores: in (B, T, T) against (B, H, T, T), its "
        "texts line up with the heads. Add an axis for the heads in front of its last two.",
        {"lift": lambda self, mask: mask},
    ),
    NaNInEmptyRows=(
        "A query with nothing to attend to gets NaN: a softmax over nothing but -inf. Set the hidden weights "
        "to 0 after the softmax.",
        {"clear": lambda self, weights, mask: weights},
    ),
    HiddenScoresOfZero=(
        "The hidden scores are set to 0, which is a score like any other, so hidden keys take part in the "
        "softmax. Set the scores to -inf before it.",
        {"fill": lambda self, scores, hidden: scores.masked_fill(hidden, 0.0)},
    ),
    HiddenScoresOfZeroUncleared=(
        HIDDEN_SCORES_ARE_ZERO,
        {
            "fill": lambda self, scores, hidden: scores.masked_fill(hidden, 0.0),
            "clear": lambda self, weights, mask: weights,
        },
    ),
    FilledTooHigh=(
        "Hidden scores are filled with a number that is not low enough: visible scores go down to -1e4 here, "
        "and hidden keys then take all the weight. Set hidden scores to -inf before the softmax.",
        {"fill": lambda self, scores, hidden: scores.masked_fill(hidden, -100.0)},
    ),
    FilledWithMinusTenThousand=(
        FIXED_LOW_SCORE,
        {"fill": lambda self, scores, hidden: scores.masked_fill(hidden, -1e4)},
    ),
    FilledFarDownUncleared=(
        EMPTY_ROW_IS_UNIFORM,
        {
            "fill": lambda self, scores, hidden: scores.masked_fill(hidden, -1e9),
            "clear": lambda self, weights, mask: weights,
        },
    ),
    MasksAfterTheSoftmax=(
        "The weights are hidden after the softmax, so the rows do not sum to 1. Hide the scores before it, "
        "with -inf.",
        {"fill": lambda self, scores, hidden: scores},
    ),
)


grouped_query_attention.causes_in_steps(
    Right,
    {
        "the scores were divided by √E": {
            "scale": lambda self, head_size: math.sqrt(head_size * self.num_heads)
        },
        "the scores were divided by √(H_kv · D)": {
            "scale": lambda self, head_size: math.sqrt(head_size * self.num_kv_heads)
        },
        "the scores were divided by √(E / H_kv)": {
            "scale": lambda self, head_size: math.sqrt(head_size * self.num_heads // self.num_kv_heads)
        },
        "the scores were divided by D, and not by its root": {"scale": lambda self, head_size: head_size},
        "the values were cut into heads by a view alone, without swapping T and the heads": {
            "split_values": lambda self, x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1)
        },
        "all query heads used the first key/value head": {
            "share": lambda self, x: x[:, :1].expand(-1, self.num_heads, -1, -1)
        },
    },
)
