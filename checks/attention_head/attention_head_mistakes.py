"""The mistakes that the grader can name in `AttentionHead`."""

import math

import torch
import torch.nn as nn

from attention_lab.authoring import add_mistakes, defaults
from attention_lab.authoring.mask_sentences import (
    AFTER_THE_SOFTMAX,
    EMPTY_ROW_IS_UNIFORM,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    HIDDEN_SCORES_ARE_ZERO,
    MINUS_INFINITY_ADDED,
    SCALED_UP_AFTERWARDS,
)

from .attention_head import NAMES, _Head, attention_head


def _scaled_up(least):
    """Divide what the mask leaves of each row by its sum, or by the `least` number."""

    def clear(self, weights, hidden):
        weights = weights.masked_fill(hidden, 0.0)
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=least)

    return clear


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


class key_of_the_projected_query(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        value = value if value is not None else query if key is None else key
        query = self.query(query)
        key = self.key(query)
        weights = self.weigh(query @ key.mT * self.sizes["head_size"] ** -0.5, mask)
        return weights @ self.value(value), weights


class over_the_batch(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        query, key, value = (x.transpose(0, 1) for x in self.with_defaults(query, key, value))
        output, weights = super().forward(query, key, value)
        return output.transpose(0, 1), weights


add_mistakes(
    attention_head,
    _Head,
    over_the_batch=(
        "Sentences attend to each other: batch and tokens have changed places, as torch's own layers expect "
        "them without `batch_first=True`. Here the batch comes first, (B, T, E): leave it there.",
        over_the_batch,
    ),
    bias_left_on=(
        "The projections have a bias: `query.bias`, `key.bias` and `value.bias` should not be there. A "
        "linear layer adds a bias unless it is told not to.",
        {"bias": True},
    ),
    key_by_the_query_projection=(
        "The keys are made by the query's projection: changing the weights of `key` changes nothing. Each of "
        "the three inputs goes through the layer of its own name.",
        {"layers": ("query", "query", "value")},
    ),
    keys_from_the_queries=(
        "The keys are made from the queries: `key` is never read. That shows only where the keys come from "
        "another text: project the argument `key` with the layer `key`.",
        {"with_defaults": lambda self, query, key, value: (query, query, defaults(query, key, value)[1])},
    ),
    key_of_the_projected_query=(
        "The keys are made from queries that are projected already: they go through two layers. The layer "
        "`key` reads the argument `key`, which is `embed_dim` wide.",
        key_of_the_projected_query,
    ),
    values_are_the_projected_keys=(
        "The values are the projected keys: the layer `value` is made and never used. A value says what a "
        "token passes on, a key what it is found by, so each has a projection of its own.",
        {
            "layers": ("query", "key", "key"),
            "with_defaults": lambda self, query, key, value: _Head.with_defaults(self, query, key, None),
        },
    ),
    value_by_the_key_projection=(
        "The values are projected by the layer `key`: the layer `value` is made and never used. Each of the "
        "three inputs goes through the layer of its own name.",
        {"layers": ("query", "key", "key")},
    ),
    values_not_projected=(
        "The weights are right, but `output` mixes the values before their projection: it is `embed_dim` "
        "wide instead of `head_size`, and the layer `value` is never used. Project the values too.",
        {"layers": ("query", "key", "forget"), "forget": staticmethod(lambda value: value)},
    ),
    value_defaults_to_query=(
        "Where `value` is None, the queries were used in its place. What is retrieved belongs to the keys: "
        "the default of `value` is `key`.",
        {
            "with_defaults": lambda self, query, key, value: _Head.with_defaults(
                self, query, key, query if value is None else value
            )
        },
    ),
    unscaled=(
        "The scores are not scaled, so the weights are too sharp. Projected queries and keys are `head_size` "
        "wide: divide the scores by the square root of that.",
        {"power": 0},
    ),
    scaled_by_embed_dim=(
        "The scores are divided by the square root of `embed_dim`. A score is a sum of as many products as "
        "the *projected* query has numbers, and that is `head_size`.",
        {"width": "embed_dim"},
    ),
    mask_ignored=(
        "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
        "softmax, and note that `masked_fill` returns a new tensor, which you have to use.",
        {"weigh": lambda self, scores, mask: scores.softmax(dim=-1)},
    ),
    true_means_hidden=(
        'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
        'attend", so it is the False entries that have to be hidden.',
        {"weigh": lambda self, scores, mask: _Head.weigh(self, scores, None if mask is None else ~mask)},
    ),
    empty_row_is_nan=(
        "A query with nothing to attend to is NaN: a row of nothing but -inf cannot be normalised. Clear the "
        "hidden weights after the softmax, before they meet the values.",
        {"clear": lambda self, weights, hidden: weights},
    ),
    masked_after_the_softmax=(
        AFTER_THE_SOFTMAX,
        {"hide": lambda self, scores, hidden: scores},
    ),
    scaled_up_afterwards=(
        f"{SCALED_UP_AFTERWARDS} Here such a row becomes NaN.",
        {"hide": lambda self, scores, hidden: scores, "clear": _scaled_up(0.0)},
    ),
    scaled_up_without_nan=(
        SCALED_UP_AFTERWARDS,
        {"hide": lambda self, scores, hidden: scores, "clear": _scaled_up(1e-9)},
    ),
    hidden_scores_are_zero=(
        HIDDEN_SCORES_ARE_ZERO,
        {"fill": 0.0, "clear": lambda self, weights, hidden: weights},
    ),
    fill_turned_round=(
        FILL_TURNED_ROUND,
        {"hide": lambda self, scores, hidden: _Head.hide(self, scores, ~hidden)},
    ),
    empty_row_is_uniform=(
        EMPTY_ROW_IS_UNIFORM,
        {"fill": -1e9, "clear": lambda self, weights, hidden: weights},
    ),
    fixed_low_score=(
        FIXED_LOW_SCORE,
        {"fill": -1e4},
    ),
    minus_infinity_added=(
        MINUS_INFINITY_ADDED,
        {
            "hide": lambda self, scores, hidden: (
                scores + torch.zeros_like(scores).masked_fill(hidden, -math.inf)
            ),
            "clear": lambda self, weights, hidden: weights.nan_to_num(),
        },
    ),
)
