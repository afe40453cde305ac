"""The mistakes that the grader can name in `AttentionHead`."""

import math

import torch
import torch.nn as nn

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
    "The projections have a bias: `query.bias`, `key.bias` and `value.bias` should not be there. A "
    "linear layer adds a bias unless it is told not to."
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
    "The keys are made from the queries: `key` is never read. That shows only where the keys come from "
    "another text: project the argument `key` with the layer `key`."
)
class keys_from_the_queries(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        value = value if value is not None else query if key is None else key
        return super().forward(query, query, value, mask)


@attention_head.mistake(
    "The keys are made from queries that are projected already: they go through two layers. The layer `key` "
    "reads the argument `key`, which is `embed_dim` wide."
)
class key_of_the_projected_query(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        value = value if value is not None else query if key is None else key
        query = self.query(query)
        key = self.key(query)
        weights = self.weigh(query @ key.mT * self.sizes["head_size"] ** -0.5, mask)
        return weights @ self.value(value), weights


@attention_head.mistake(
    "The values are the projected keys: the layer `value` is made and never used. A value says what a token "
    "passes on, a key what it is found by, so each has a projection of its own."
)
class values_are_the_projected_keys(_Head):
    layers = ("query", "key", "key")

    def forward(self, query, key=None, value=None, mask=None):
        return super().forward(query, key, None, mask)


@attention_head.mistake(
    "The values are projected by the layer `key`: the layer `value` is made and never used. Each of the "
    "three inputs goes through the layer of its own name."
)
class value_by_the_key_projection(_Head):
    layers = ("query", "key", "key")


@attention_head.mistake(
    "The weights are right, but `output` mixes the values before their projection: it is `embed_dim` "
    "wide instead of `head_size`, and the layer `value` is never used. Project the values too."
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
    "The scores are divided by the square root of `embed_dim`. A score is a sum of as many products as "
    "the *projected* query has numbers, and that is `head_size`."
)
class scaled_by_embed_dim(_Head):
    width = "embed_dim"


@attention_head.mistake(
    "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
    "softmax, and note that `masked_fill` returns a new tensor, which you have to use."
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


@attention_head.mistake(AFTER_THE_SOFTMAX)
class masked_after_the_softmax(_Head):
    def weigh(self, scores, mask):
        weights = scores.softmax(dim=-1)
        return weights if mask is None else weights * mask


@attention_head.mistake(f"{SCALED_UP_AFTERWARDS} Here such a row becomes NaN.")
class scaled_up_afterwards(_Head):
    least = 0.0

    def weigh(self, scores, mask):
        weights = scores.softmax(dim=-1)
        if mask is None:
            return weights
        weights = weights * mask
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=self.least)


@attention_head.mistake(SCALED_UP_AFTERWARDS)
class scaled_up_without_nan(scaled_up_afterwards):
    least = 1e-9


@attention_head.mistake(HIDDEN_SCORES_ARE_ZERO)
class hidden_scores_are_zero(_Head):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores * mask).softmax(dim=-1)


@attention_head.mistake(FILL_TURNED_ROUND)
class fill_turned_round(_Head):
    def weigh(self, scores, mask):
        weights = super().weigh(scores, None if mask is None else ~mask)
        return weights if mask is None else weights.masked_fill(~mask, 0.0)


@attention_head.mistake(EMPTY_ROW_IS_UNIFORM)
class empty_row_is_uniform(_Head):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(dim=-1)


@attention_head.mistake(FIXED_LOW_SCORE)
class fixed_low_score(_Head):
    def weigh(self, scores, mask):
        hidden = torch.tensor(False) if mask is None else ~mask
        return scores.masked_fill(hidden, -1e4).softmax(dim=-1).masked_fill(hidden, 0.0)


@attention_head.mistake(MINUS_INFINITY_ADDED)
class minus_infinity_added(_Head):
    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        hidden = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)
        return (scores + hidden).softmax(dim=-1).nan_to_num()
