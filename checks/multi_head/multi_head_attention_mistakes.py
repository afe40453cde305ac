"""The mistakes that the grader can name in `MultiHeadAttention`."""

import torch
import torch.nn as nn

from attention_lab.authoring import add_mistakes, defaults
from attention_lab.authoring.causes import ATTENTION_CAUSES
from attention_lab.lesson_05.attention_head import AttentionHead

from .multi_head_attention import _Layer, multi_head_attention


class SlicesTheInput(_Layer):
    def head(self, embed_dim, head_size, bias):
        return AttentionHead(head_size, head_size, bias)

    def attend(self, place, *inputs):
        width = inputs[0].shape[-1] // len(self.heads)
        own_columns = slice(place * width, (place + 1) * width)
        return self.heads[place](*(None if x is None else x[..., own_columns] for x in inputs[:3]), inputs[3])


class RefusesByAssertion(_Layer):
    def share_out(self, embed_dim, num_heads):
        assert embed_dim % num_heads == 0


add_mistakes(
    multi_head_attention,
    _Layer,
    PythonListOfHeads=(
        "The layer does not know its heads: they are in a plain Python list, so none of their parameters is "
        "registered, and no optimizer would train them. Use torch's own list of modules.",
        {"keep": list},
    ),
    OneHeadManyTimes=(
        "The layer has the parameters of one head only: the list holds the *same* head `num_heads` times, so "
        "all heads compute the same. Make a new head for each entry of the list.",
        {"keep": lambda self, heads: nn.ModuleList(heads[:1] * len(heads))},
    ),
    HeadsAsWideAsTheEmbedding=(
        "Each head is as wide as the embedding, so that `output` has to squeeze `num_heads` times "
        "`embed_dim` numbers into `embed_dim`. Divide the width among the heads: all of them *together* "
        "return `embed_dim` numbers.",
        {
            "head": lambda self, embed_dim, head_size, bias: AttentionHead(embed_dim, embed_dim, bias),
            "last": lambda self, embed_dim, num_heads, bias: nn.Linear(
                num_heads * embed_dim, embed_dim, bias
            ),
        },
    ),
    AddsWideHeads=(
        "Each head returns `embed_dim` numbers; side by side they would not fit into `output`. A head's size "
        "is `embed_dim` divided by `num_heads`, so that the joined heads are `embed_dim` wide again.",
        {
            "head": lambda self, embed_dim, head_size, bias: AttentionHead(embed_dim, embed_dim, bias),
            "join": lambda self, outputs: sum(outputs),
        },
    ),
    SlicesTheInput=(
        "Each head sees only its own slice of the embedding: its projections take only head-size numbers. A "
        "head reads the *whole* vector, all `embed_dim` numbers, and projects it down to the head size.",
        SlicesTheInput,
    ),
    NoOutputProjection=(
        "The layer has no output projection: its parameters end with the heads. Without `output` the heads' "
        "results are side by side and never combined; project the joined vectors once more.",
        {"last": lambda self, embed_dim, num_heads, bias: nn.Identity()},
    ),
    OutputNotApplied=(
        "`output` is made and never used: the layer returns the heads' results side by side. Pass the joined "
        "vectors through it, so that what one head has found is combined with what the others have found.",
        {"finish": lambda self, joined: joined},
    ),
    NoBiasInTheHeads=(
        "Asked for a bias, the layer has one in `output` only: the heads were made without it. `bias` goes "
        "to every projection, so pass it to each `AttentionHead`.",
        {"head": lambda self, embed_dim, head_size, bias: AttentionHead(embed_dim, head_size)},
    ),
    NoBiasInTheOutput=(
        "Asked for a bias, the layer has it in the heads only: `output` was made without one. `bias` goes to "
        "every projection, the last one too.",
        {"last": lambda self, embed_dim, num_heads, bias: nn.Linear(embed_dim, embed_dim, bias=False)},
    ),
    BiasByDefault=(
        "The layer has biases although none were asked for: `bias` is False unless the caller says "
        "otherwise.",
        {
            "__init__": lambda self, embed_dim, num_heads, bias=True: _Layer.__init__(
                self, embed_dim, num_heads, bias
            )
        },
    ),
    BiasNotUsed=(
        "Asked for a bias, the layer has none at all: the argument `bias` is not used. It goes to every "
        "projection, those of the heads and `output`.",
        {
            "head": lambda self, embed_dim, head_size, bias: AttentionHead(embed_dim, head_size),
            "last": lambda self, embed_dim, num_heads, bias: nn.Linear(embed_dim, embed_dim, bias=False),
        },
    ),
    OutputAlwaysHasABias=(
        "`output` has a bias even where none was asked for: `nn.Linear` adds one by default. Pass it the "
        "layer's own `bias`.",
        {"last": lambda self, embed_dim, num_heads, bias: nn.Linear(embed_dim, embed_dim)},
    ),
    AcceptsAnyWidth=(
        "A width that is not divisible by the number of heads is accepted, and rounding down silently makes "
        "the heads too small. Refuse it when the layer is made, with a ValueError whose sentence contains "
        "both numbers.",
        {"share_out": lambda self, embed_dim, num_heads: None},
    ),
    RefusesByAssertion=(
        "A width that is not divisible by the number of heads is refused by `assert`, which is meant for the "
        "programmer's own errors and is removed by `python -O`. Raise a ValueError whose sentence contains "
        "both numbers.",
        RefusesByAssertion,
    ),
    JoinsAlongTime=(
        "What reaches `output` is only as wide as one head: the heads' results were joined along an axis "
        "other than the last, one below the other instead of side by side. Only a token's vector should get "
        "longer.",
        {"join": lambda self, outputs: torch.cat(outputs, dim=1)},
    ),
    JoinsAlongTimeAndReshapes=(
        "The shape is right, the order of the numbers is not: the heads' results were joined along an axis "
        "other than the last and then reshaped, which mixes tokens. Join them along the last axis; no "
        "reshaping is needed.",
        {"join": lambda self, outputs: torch.cat(outputs, dim=1).reshape(*outputs[0].shape[:2], -1)},
    ),
    InterleavesTheHeads=(
        "The heads are interleaved: the first number of every head, then the second of every head. `output` "
        "expects all of head 0, then all of head 1 and so on: join the heads side by side.",
        {"join": lambda self, outputs: torch.stack(outputs, dim=-1).flatten(2)},
    ),
    AddsTheHeads=(
        "What reaches `output` is only as wide as one head: the heads' results were added or averaged, and a "
        "sum does not keep what each of them found. Put them side by side along the last axis.",
        {"join": lambda self, outputs: sum(outputs)},
    ),
    MaskReachesOneHead=(
        "The mask reaches the first head only; the others see hidden keys, and their values get into the "
        "output. Pass `mask` to every head.",
        {
            "attend": lambda self, place, query, key, value, mask: _Layer.attend(
                self, place, query, key, value, mask if place == 0 else None
            )
        },
    ),
    MaskIgnored=(
        "`mask` changes nothing: the layer does not pass it on. Every head needs it.",
        {
            "attend": lambda self, place, query, key, value, mask: _Layer.attend(
                self, place, query, key, value, None
            )
        },
    ),
    SelfAttentionOnly=(
        "`key` and `value` change nothing: every head attends from the query to the query. Pass all three to "
        "the heads, which know what to do with None.",
        {
            "attend": lambda self, place, query, key, value, mask: _Layer.attend(
                self, place, query, None, None, mask
            )
        },
    ),
    ValueNotHandedOn=(
        "`value` changes nothing: the keys are mixed in its place. Pass `value` to the heads as well.",
        {
            "attend": lambda self, place, query, key, value, mask: _Layer.attend(
                self, place, query, key, None, mask
            )
        },
    ),
    ValueFallsBackOnTheQuery=(
        "Where no value is given, you use the query. A missing `value` is the key, and a missing `key` is "
        "the query: pass all three on as they are, the heads know it.",
        {
            "attend": lambda self, place, query, key, value, mask: _Layer.attend(
                self, place, query, key, query if value is None else value, mask
            )
        },
    ),
    WeightsOfTheLastHead=(
        "The output is right, but `weights` are those of the last head alone. Keep the weights of every "
        "head, and return their average.",
        {"average": lambda self, weights: weights[-1]},
    ),
    WeightsAddedUp=(
        "The output is right, but the rows of `weights` sum to the number of heads: they were added up. "
        "Return their average.",
        {"average": lambda self, weights: sum(weights)},
    ),
    WeightsOfEveryHead=(
        "The output is right, but `weights` still has an axis for the heads: it should be `(B, T_q, T_k)`. "
        "Average over the heads.",
        {"average": lambda self, weights: torch.stack(weights, dim=1)},
    ),
)


def _own_head(attend):
    def attended(self, place, query, key, value, mask):
        head, (key, value) = self.heads[place], defaults(query, key, value)
        return attend(head.query(query), head.key(key), head.value(value), mask)

    return attended


multi_head_attention.causes_in_steps(
    _Layer,
    {
        **{clause: {"attend": _own_head(attend)} for clause, attend in ATTENTION_CAUSES.items()},
        "`weights` were the largest of all heads": {"average": lambda self, w: torch.stack(w).amax(0)},
        "the heads' mean were repeated": {
            "join": lambda self, parts: (sum(parts) / len(parts)).repeat(1, 1, len(parts))
        },
        "the last head's result were left out": {"join": lambda self, p: torch.cat([*p[:-1], 0 * p[-1]], -1)},
        "the first head's result were left out": {"join": lambda self, p: torch.cat([0 * p[0], *p[1:]], -1)},
        "the last head were left out": {
            "join": lambda self, p: torch.cat([*p[:-1], 0 * p[-1]], -1),
            "average": lambda self, weights: torch.stack(weights[:-1]).mean(0),
        },
        "the heads were stacked in front and reshaped": {
            "join": lambda self, parts: torch.stack(parts).reshape(*parts[0].shape[:2], -1)
        },
        "GELU came before `output`": {"join": lambda self, parts: nn.functional.gelu(torch.cat(parts, -1))},
        "a layer norm came before `output`": {
            "join": lambda self, parts: nn.functional.layer_norm(
                torch.cat(parts, -1), (len(parts) * parts[0].shape[-1],)
            )
        },
        "the joined heads were added to the output": {
            "finish": lambda self, joined: self.output(joined) + joined
        },
        "the bias of `output` were added twice": {
            "finish": lambda self, joined: self.output(joined) + self.output.bias
        },
        "the queries were divided by √E before their projection": {
            "attend": lambda self, place, query, key, value, mask: self.heads[place](
                query / query.shape[-1] ** 0.5, *defaults(query, key, value), mask
            )
        },
        "the last head were left out, and the one before it counted twice": {
            "attend": lambda self, place, *inputs: self.heads[min(place, max(len(self.heads) - 2, 0))](
                *inputs
            )
        },
        "relu came before `output`": {"join": lambda self, parts: torch.cat(parts, -1).relu()},
    },
)
