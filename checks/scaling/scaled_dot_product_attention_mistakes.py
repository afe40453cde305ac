"""The mistakes that the grader can name in `scaled_dot_product_attention`."""

import math

import torch

from attention_lab.authoring import add_mistakes, attention, defaults

from .scaled_dot_product_attention import scaled_dot_product_attention


def scaled_after_the_softmax(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1) / math.sqrt(query.shape[-1])
    return weights @ value, weights


def scores_for_weights(query, key=None, value=None):
    key, value = defaults(query, key, value)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1) @ value, scores


add_mistakes(
    scaled_dot_product_attention,
    attention,
    not_scaled=(
        "The scores are not scaled: the weights are sharper than they should be. Divide the dot products by "
        "the root of the width d_k before the softmax.",
        {"scale": 1.0},
    ),
    divided_by_d_k=(
        "The scores are divided by d_k, not by its square root: the weights are too even, and more so the "
        "wider the vectors are.",
        {"scale": lambda query, key, value: 1 / query.shape[-1]},
    ),
    multiplied_by_the_root=(
        "The scores are multiplied by the root of d_k, so the weights are far too sharp. Divide by it.",
        {"scale": lambda query, key, value: query.shape[-1] ** 0.5},
    ),
    scaled_after_the_softmax=(
        "The rows of weights sum to 1/√d_k instead of 1: the division comes after the softmax. It belongs on "
        "the scores, before it.",
        scaled_after_the_softmax,
    ),
    root_of_the_number_of_keys=(
        "The divisor is the root of the number of keys T_k; it should be the root of the width d_k, the last "
        "axis of query and key.",
        {"scale": lambda query, key, value: key.shape[-2] ** -0.5},
    ),
    root_of_the_value_width=(
        "The divisor is the root of the *value's* width d_v. A score is a sum of d_k products: use the width "
        "of query and key.",
        {"scale": lambda query, key, value: value.shape[-1] ** -0.5},
    ),
    hard_coded_8=(
        "The scores are divided by 8 at every width. That is the root for d_k = 64 only: take the width from "
        "the tensors.",
        {"scale": 1 / 8},
    ),
    softmax_over_the_queries=(
        "The columns of weights sum to 1, the rows do not. Row i is how query i spreads its attention: take "
        "the softmax over the keys, the last dimension.",
        {"axis": -2},
    ),
    softmax_over_dimension_one=(
        "Right for one sentence; in a batch, dimension 1 is the queries, not the keys. Count the dimension "
        "of the softmax from the end.",
        {"axis": 1},
    ),
    weights_on_the_keys=(
        "The weights are right, but the output is a weighted sum of the keys: the argument `value` is never "
        "used.",
        lambda query, key=None, value=None: attention(query, key),
    ),
    value_from_the_query=(
        "Without a `value`, your output mixes the query. `value=None` means value = key; the difference "
        "shows when the caller gives a key.",
        lambda query, key=None, value=None: attention(query, key, query if value is None else value),
    ),
    key_never_used=(
        "The key is never used: the query is scored with itself. Score every query with every *key*.",
        lambda query, key=None, value=None: attention(query, query, defaults(query, key, value)[1]),
    ),
    pair_swapped=(
        "Output and weights are in the wrong order: return (output, weights).",
        lambda query, key=None, value=None: attention(query, key, value)[::-1],
    ),
    scores_for_weights=(
        "The output is right, but the second result is the scores: its rows do not sum to 1. Return the "
        "weights, the result of the softmax.",
        scores_for_weights,
    ),
    exponential_without_maximum=(
        "Large scores give NaN: the exponential of 1,000 is infinite. Subtract each row's maximum before the "
        "exponential, as in lesson 1, or use torch's softmax.",
        {"softmax": lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True)},
    ),
    widths_not_compared=(
        "The attention is right, but the error for unequal widths is missing: the caller sees torch's own "
        "error. Compare the widths of query and key first, and raise a ValueError that names both.",
        lambda query, key=None, value=None: attention(query, key, value),
    ),
)


@scaled_dot_product_attention.mistake(
    "You raise a ValueError for unequal widths, but its message does not name both numbers: say how wide "
    "the query is and how wide the key is."
)
def refusal_without_numbers(query, key=None, value=None):
    if query.shape[-1] != defaults(query, key, value)[0].shape[-1]:
        raise ValueError("query and key must have the same width")
    return attention(query, key, value)


@scaled_dot_product_attention.mistake(
    "Where there are more keys than queries, or fewer, a ValueError is raised: the whole shapes of query and "
    "key are compared. Only their widths, the last axis, have to be equal."
)
def whole_shapes_compared(query, key=None, value=None):
    key, value = defaults(query, key, value)
    if query.shape != key.shape:
        raise ValueError(f"{tuple(query.shape)} is not {tuple(key.shape)}")
    return attention(query, key, value)


@scaled_dot_product_attention.mistake(
    "Unequal widths raise an AssertionError, and assertions can be switched off. Raise a ValueError with "
    "both widths in its message instead."
)
def asserted_widths(query, key=None, value=None):
    key, value = defaults(query, key, value)
    assert query.shape[-1] == key.shape[-1], f"{query.shape[-1]} is not {key.shape[-1]}"
    return attention(query, key, value)
