"""The mistakes that the grader can name in `masked_attention`."""

import math
from functools import partial

import torch

from attention_lab.authoring import add_mistakes, attention, defaults
from attention_lab.authoring.causes import ATTENTION_CAUSES
from attention_lab.authoring.mask_sentences import (
    ADDED_AS_NUMBERS,
    ADDED_WITHOUT_CLEARING,
    AFTER_THE_SOFTMAX,
    EMPTY_ROW_IS_UNIFORM,
    EXPONENTIALS_TOO_LARGE,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    HIDDEN_SCORES_ARE_ZERO,
    MINUS_INFINITY_ADDED,
    SCALED_UP_AFTERWARDS,
    SMALL_FILL,
    SMALL_FILL_CLEARED,
    ZERO_TIMES_INFINITY,
)

from .masked_attention import masked_attention

add_mistakes(
    masked_attention,
    attention,
    mask_ignored=(
        "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
        "softmax, and mind that a method like `masked_fill` returns a new tensor that has to be kept.",
        lambda query, key=None, value=None, mask=None: attention(query, key, value, None),
    ),
    true_means_hidden=(
        'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
        'attend", so it is the False entries that have to be hidden.',
        lambda query, key=None, value=None, mask=None: attention(
            query, key, value, None if mask is None else ~mask
        ),
    ),
    fill_turned_round=(
        FILL_TURNED_ROUND,
        {"fill_visible": True},
    ),
)


@masked_attention.mistake(AFTER_THE_SOFTMAX)
def after_the_softmax(query, key=None, value=None, mask=None):
    value = value if value is not None else query if key is None else key
    _, weights = attention(query, key, value, None)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


def _scaled_up(query, key, value, mask, least):
    value = value if value is not None else query if key is None else key
    _, weights = attention(query, key, value, None)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=least)
    return weights @ value, weights


def needs_a_mask(query, key=None, value=None, mask=None):
    _ = ~mask
    return attention(query, key, value, mask)


def zero_times_infinity(query, key=None, value=None, mask=None):
    key, value = defaults(query, key, value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores if mask is None else scores + ~mask * -math.inf, dim=-1)
    return weights @ value, weights


add_mistakes(
    masked_attention,
    attention,
    scaled_up_afterwards=(
        f"{SCALED_UP_AFTERWARDS} Here such a row becomes NaN.",
        lambda query, key=None, value=None, mask=None: _scaled_up(query, key, value, mask, least=0.0),
    ),
    scaled_up_without_nan=(
        SCALED_UP_AFTERWARDS,
        lambda query, key=None, value=None, mask=None: _scaled_up(query, key, value, mask, least=1e-9),
    ),
    output_from_unmasked_weights=(
        "The weights are right, but `output` was made from the weights before they were masked: it still "
        "mixes in the values of hidden keys. Compute the output last, from the weights you return.",
        lambda query, key=None, value=None, mask=None: (
            attention(query, key, value, None)[0],
            attention(query, key, value, mask)[1],
        ),
    ),
    fills_with_zero=(
        HIDDEN_SCORES_ARE_ZERO,
        {"fill": 0.0, "clear": False},
    ),
    unscaled=(
        "The mask is right, but the scores are not scaled: the weights are too sharp. Divide the scores by "
        "the square root of the query's width, as in lesson 2.",
        {"scale": 1},
    ),
    over_the_queries=(
        "The columns of `weights` sum to 1, the rows do not: row i is how query i spreads its attention. "
        "Normalise over the keys, the last dimension.",
        {"axis": -2},
    ),
    empty_row_is_nan=(
        "A query with nothing to attend to is NaN, in `weights` and in `output`: a row of nothing but -inf "
        "cannot be normalised. Use the masked softmax you wrote, or clear the hidden weights before they "
        "meet the values.",
        {"clear": False},
    ),
    empty_row_is_uniform=(
        EMPTY_ROW_IS_UNIFORM,
        {"fill": -1e9, "clear": False},
    ),
    low_score_and_cleared=(
        FIXED_LOW_SCORE,
        {"fill": -1e4},
    ),
    filled_with_ten=(
        SMALL_FILL,
        {"fill": -10.0, "clear": False},
    ),
    filled_with_ten_and_cleared=(
        SMALL_FILL_CLEARED,
        {"fill": -10.0},
    ),
    second_axis_from_the_front=(
        "One sequence is right and a batch is not: there the weights sum to 1 over the queries. The axis of "
        "the softmax is counted from the front, and with a batch in front axis 1 holds the queries. The keys "
        "are the last axis: count from the end.",
        {"axis": 1},
    ),
    exponentials_too_large=(
        EXPONENTIALS_TOO_LARGE,
        {"softmax": lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True)},
    ),
    added_without_clearing=(
        ADDED_WITHOUT_CLEARING,
        {"add": True, "clear": False},
    ),
    added_as_numbers=(
        ADDED_AS_NUMBERS,
        {"add": True, "fill": -1.0, "clear": False},
    ),
    additive_mask=(
        MINUS_INFINITY_ADDED,
        {"add": True},
    ),
    zero_times_infinity=(
        ZERO_TIMES_INFINITY,
        zero_times_infinity,
    ),
    needs_a_mask=(
        "The call fails when no mask is given: `mask` is None by default, and None means that every query "
        "may attend to every key. Use the mask only where there is one.",
        needs_a_mask,
    ),
    keys_instead_of_values=(
        "`output` is mixed from the keys: the `value` that was passed is never used. The weights pick from "
        "the values; only where `value` is None are they the keys.",
        lambda query, key=None, value=None, mask=None: attention(query, key, None, mask),
    ),
    value_defaults_to_query=(
        "Where `value` is None, the queries were used in its place. What is retrieved belongs to the keys: "
        "the default of `value` is `key`.",
        lambda query, key=None, value=None, mask=None: attention(
            query, key, query if value is None else value, mask
        ),
    ),
)


def _with_defaults(attend):
    return lambda query, key=None, value=None, mask=None: attend(query, *defaults(query, key, value), mask)


for _clause, _attend in ATTENTION_CAUSES.items():
    masked_attention.cause(_clause, _with_defaults(_attend))
masked_attention.cause(
    "the scores were divided by the root of the value's width",
    partial(attention, scale=lambda query, key, value: value.shape[-1] ** -0.5),
)
