"""The mistakes that the grader can name in `masked_attention`."""

from attention_lab.authoring import attention, defaults
from attention_lab.authoring.causes import ATTENTION_CAUSES
from attention_lab.authoring.mask_sentences import (
    AFTER_THE_SOFTMAX,
    EMPTY_ROW_IS_UNIFORM,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    HIDDEN_SCORES_ARE_ZERO,
    MINUS_INFINITY_ADDED,
    SCALED_UP_AFTERWARDS,
)

from .masked_attention import masked_attention


@masked_attention.mistake(
    "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
    "softmax, and mind that a method like `masked_fill` returns a new tensor that has to be kept."
)
def mask_ignored(query, key=None, value=None, mask=None):
    return attention(query, key, value, None)


@masked_attention.mistake(
    'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
    'attend", so it is the False entries that have to be hidden.'
)
def true_means_hidden(query, key=None, value=None, mask=None):
    return attention(query, key, value, None if mask is None else ~mask)


@masked_attention.mistake(FILL_TURNED_ROUND)
def fill_turned_round(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, fill_visible=True)


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


@masked_attention.mistake(f"{SCALED_UP_AFTERWARDS} Here such a row becomes NaN.")
def scaled_up_afterwards(query, key=None, value=None, mask=None):
    return _scaled_up(query, key, value, mask, least=0.0)


@masked_attention.mistake(SCALED_UP_AFTERWARDS)
def scaled_up_without_nan(query, key=None, value=None, mask=None):
    return _scaled_up(query, key, value, mask, least=1e-9)


@masked_attention.mistake(
    "The weights are right, but `output` was made from the weights before they were masked: it still "
    "mixes in the values of hidden keys. Compute the output last, from the weights you return."
)
def output_from_unmasked_weights(query, key=None, value=None, mask=None):
    return attention(query, key, value, None)[0], attention(query, key, value, mask)[1]


@masked_attention.mistake(HIDDEN_SCORES_ARE_ZERO)
def fills_with_zero(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, fill=0.0, clear=False)


@masked_attention.mistake(
    "The mask is right, but the scores are not scaled: the weights are too sharp. Divide the scores by "
    "the square root of the query's width, as in lesson 2."
)
def unscaled(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, scale=1)


@masked_attention.mistake(
    "The columns of `weights` sum to 1, the rows do not: row i is how query i spreads its attention. "
    "Normalise over the keys, the last dimension."
)
def over_the_queries(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, axis=-2)


@masked_attention.mistake(
    "A query with nothing to attend to is NaN, in `weights` and in `output`: a row of nothing but -inf "
    "cannot be normalised. Use the masked softmax you wrote, or clear the hidden weights before they meet"
    " the values."
)
def empty_row_is_nan(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, clear=False)


@masked_attention.mistake(EMPTY_ROW_IS_UNIFORM)
def empty_row_is_uniform(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, fill=-1e9, clear=False)


@masked_attention.mistake(FIXED_LOW_SCORE)
def low_score_and_cleared(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, fill=-1e4)


@masked_attention.mistake(
    "One sequence is right and a batch is not: there the weights sum to 1 over the queries. The axis of the "
    "softmax is counted from the front, and with a batch in front axis 1 holds the queries. The keys are the "
    "last axis: count from the end."
)
def second_axis_from_the_front(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, axis=1)


@masked_attention.mistake(MINUS_INFINITY_ADDED)
def additive_mask(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, add=True)


@masked_attention.mistake(
    "The call fails when no mask is given: `mask` is None by default, and None means that every query may"
    " attend to every key. Use the mask only where there is one."
)
def needs_a_mask(query, key=None, value=None, mask=None):
    _ = ~mask
    return attention(query, key, value, mask)


@masked_attention.mistake(
    "`output` is mixed from the keys: the `value` that was passed is never used. The weights pick from "
    "the values; only where `value` is None are they the keys."
)
def keys_instead_of_values(query, key=None, value=None, mask=None):
    return attention(query, key, None, mask)


@masked_attention.mistake(
    "Where `value` is None, the queries were used in its place. What is retrieved belongs to the keys: "
    "the default of `value` is `key`."
)
def value_defaults_to_query(query, key=None, value=None, mask=None):
    return attention(query, key, query if value is None else value, mask)


def _with_defaults(attend):
    return lambda query, key=None, value=None, mask=None: attend(query, *defaults(query, key, value), mask)


for _clause, _attend in ATTENTION_CAUSES.items():
    masked_attention.cause(_clause, _with_defaults(_attend))
