"""The mistakes that the grader can name in `scaled_dot_product_attention`."""

import math

import torch

from attention_lab.authoring import defaults

from .scaled_dot_product_attention import scaled_dot_product_attention


@scaled_dot_product_attention.mistake(
    "The scores are not scaled: the weights are sharper than they should be. Divide the dot products by the "
    "root of the width d_k before the softmax."
)
def not_scaled(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The scores are divided by d_k, not by its square root: the weights are too even, and more so the "
    "wider the vectors are."
)
def divided_by_d_k(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / query.shape[-1], dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The scores are multiplied by the root of d_k, so the weights are far too sharp. Divide by it."
)
def multiplied_by_the_root(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) * math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The rows of weights sum to 1/√d_k instead of 1: the division comes after the softmax. It belongs on the "
    "scores, before it."
)
def scaled_after_the_softmax(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1) / math.sqrt(query.shape[-1])
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The divisor is the root of the number of keys T_k; it should be the root of the width d_k, the last "
    "axis of query and key."
)
def root_of_the_number_of_keys(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(key.shape[-2]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The divisor is the root of the *value's* width d_v. A score is a sum of d_k products: use the width of "
    "query and key."
)
def root_of_the_value_width(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The scores are divided by 8 at every width. That is the root for d_k = 64 only: take the width from the "
    "tensors."
)
def hard_coded_8(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / 8, dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The columns of weights sum to 1, the rows do not. Row i is how query i spreads its attention: take the "
    "softmax over the keys, the last dimension."
)
def softmax_over_the_queries(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-2)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Right for one sentence; in a batch, dimension 1 is the queries, not the keys. Count the dimension of "
    "the softmax from the end."
)
def softmax_over_dimension_one(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The weights are right, but the output is a weighted sum of the keys: the argument `value` is never used."
)
def weights_on_the_keys(query, key=None, value=None):
    key = query if key is None else key
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ key, weights


@scaled_dot_product_attention.mistake(
    "Without a `value`, your output mixes the query. `value=None` means value = key; the difference shows "
    "when the caller gives a key."
)
def value_from_the_query(query, key=None, value=None):
    key = query if key is None else key
    value = query if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The key is never used: the query is scored with itself. Score every query with every *key*."
)
def key_never_used(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ query.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake("Output and weights are in the wrong order: return (output, weights).")
def pair_swapped(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights, weights @ value


@scaled_dot_product_attention.mistake(
    "The output is right, but the second result is the scores: its rows do not sum to 1. Return the "
    "weights, the result of the softmax."
)
def scores_for_weights(query, key=None, value=None):
    key, value = defaults(query, key, value)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1) @ value, scores


@scaled_dot_product_attention.mistake(
    "Large scores give NaN: the exponential of 1,000 is infinite. Subtract each row's maximum before the "
    "exponential, as in lesson 1, or use torch's softmax."
)
def exponential_without_maximum(query, key=None, value=None):
    key, value = defaults(query, key, value)
    exponentials = torch.exp(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The attention is right, but the error for unequal widths is missing: the caller sees torch's own "
    "error. Compare the widths of query and key first, and raise a ValueError that names both."
)
def widths_not_compared(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "You raise a ValueError for unequal widths, but its message does not name both numbers: say how wide "
    "the query is and how wide the key is."
)
def refusal_without_numbers(query, key=None, value=None):
    key, value = defaults(query, key, value)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("query and key must have the same width")
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Where there are more keys than queries, or fewer, a ValueError is raised: the whole shapes of query and "
    "key are compared. Only their widths, the last axis, have to be equal."
)
def whole_shapes_compared(query, key=None, value=None):
    key, value = defaults(query, key, value)
    if query.shape != key.shape:
        raise ValueError(f"{tuple(query.shape)} is not {tuple(key.shape)}")
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Unequal widths raise an AssertionError, and assertions can be switched off. Raise a ValueError with "
    "both widths in its message instead."
)
def asserted_widths(query, key=None, value=None):
    key, value = defaults(query, key, value)
    assert query.shape[-1] == key.shape[-1], f"{query.shape[-1]} is not {key.shape[-1]}"
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights
