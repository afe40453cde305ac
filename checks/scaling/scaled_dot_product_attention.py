"""What the grader asks about `scaled_dot_product_attention`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.grading.exercise import Exercise, ask

scaled_dot_product_attention = Exercise(
    "scaled_dot_product_attention",
    results=("output", "weights"),
    axes=(("queries", "value width"), ("queries", "keys")),
    weights=1,
    not_allowed=("fused_attention",),
)


def three(draw, *leading, dtype=torch.float32):
    """A query, a key and a value, all of different sizes."""
    queries, keys, d_k, d_v = draw.sizes(4)
    shapes = ((queries, d_k), (keys, d_k), (keys, d_v))
    return [draw.normal(*leading, *shape, dtype=dtype) for shape in shapes]


@scaled_dot_product_attention.group("one sentence that attends to itself", points=1)
def self_attention(draw):
    tokens, d_k = draw.sizes(2)
    for dtype in (torch.float32, torch.float64):
        yield ask(draw.normal(tokens, d_k, dtype=dtype))


@scaled_dot_product_attention.group("query, key and value of different sizes", points=2)
def unequal_sizes(draw):
    query, key, value = three(draw)
    yield ask(query, key, value)
    yield ask(query, key)
    yield ask(*three(draw, dtype=torch.float64))
    tokens, d_k, d_v = draw.sizes(3)
    yield ask(draw.normal(tokens, d_k), value=draw.normal(tokens, d_v))


@scaled_dot_product_attention.group("batches and heads", points=1)
def leading_dimensions(draw):
    batch, heads = draw.integer(2, 4), draw.integer(5, 6)
    yield ask(*three(draw, batch))
    yield ask(*three(draw, batch, heads))


@scaled_dot_product_attention.group("equal sizes", points=1)
def equal_sizes(draw):
    size, d_k = draw.sizes(2)
    yield ask(draw.normal(size, size), draw.normal(size, size), draw.normal(size, size))
    yield ask(draw.normal(size, size, d_k), draw.normal(size, size, d_k), draw.normal(size, size, d_k))


@scaled_dot_product_attention.group("large scores", points=1)
def large_scores(draw):
    # In float64, where scores of a thousand still have digits to compare.
    query, key, value = three(draw, dtype=torch.float64)
    yield ask(30 * query, 30 * key, value)


@scaled_dot_product_attention.group("refuses widths that differ", points=1)
def unequal_widths(draw):
    queries, keys, d_k, other, batch = draw.sizes(5)
    yield ask(draw.normal(queries, d_k), draw.normal(keys, other), refuses=(d_k, other))
    yield ask(draw.normal(batch, queries, d_k), draw.normal(batch, keys, other), refuses=(d_k, other))


@scaled_dot_product_attention.group("gradients", points=1)
def gradients(draw):
    yield ask(*three(draw, draw.integer(2, 4)), gradients=True)
    tokens, d_k = draw.sizes(2)
    yield ask(draw.normal(tokens, d_k), gradients=True)


@scaled_dot_product_attention.mistake(
    "The scores are not scaled: the weights are sharper than they should be. Divide the dot products by the "
    "root of the width d_k before the softmax."
)
def not_scaled(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The scores are divided by d_k, not by its square root: the weights are nearly all alike and the output "
    "nearly an average."
)
def divided_by_d_k(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / query.shape[-1], dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The scores are multiplied by the root of d_k, so the weights are almost one-hot. Divide by it."
)
def multiplied_by_the_root(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) * math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The rows of weights sum to 1/√d_k instead of 1: the division comes after the softmax. It belongs on the "
    "scores, before it."
)
def scaled_after_the_softmax(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1) / math.sqrt(query.shape[-1])
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The divisor is the root of the number of keys T_k; it should be the root of the width d_k, the last "
    "axis of query and key."
)
def root_of_the_number_of_keys(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(key.shape[-2]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The divisor is the root of the *value's* width d_v. The scores are sums of d_k products: take the width "
    "of query and key."
)
def root_of_the_value_width(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The scores are divided by 8 at every width. That is the root for d_k = 64 only: take the width from the "
    "tensors."
)
def hard_coded_8(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / 8, dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The columns of weights sum to 1, the rows do not: row i is how query i spreads its attention, so the "
    "softmax runs over the keys, the last dimension."
)
def softmax_over_the_queries(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-2)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Right for one sentence; in a batch the softmax runs over dimension 1, and that is no longer the keys. "
    "Count the dimension from the end."
)
def softmax_over_dimension_one(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
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
    "Without a `value` the output uses the query in its place. `value=None` means value = key, which shows "
    "as soon as a key of its own is given."
)
def value_from_the_query(query, key=None, value=None):
    key = query if key is None else key
    value = query if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The key changes nothing: the scores are those of the query with itself. Compare every query with every "
    "*key*."
)
def key_never_used(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ query.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake("The pair is the wrong way round: first the output, then the weights.")
def pair_swapped(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights, weights @ value


@scaled_dot_product_attention.mistake(
    "The output is right, but the second result holds the scores: its rows do not sum to 1. Hand back the "
    "weights, as they are after the softmax."
)
def scores_for_weights(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return torch.softmax(scores, dim=-1) @ value, scores


@scaled_dot_product_attention.mistake(
    "Large scores give NaN: the exponential of 1,000 is infinite. Subtract each row's maximum before the "
    "exponential, as in lesson 1, or use torch's softmax."
)
def exponential_without_maximum(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    exponentials = torch.exp(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The attention is right. What is missing is the refusal: with unequal widths of query and key torch's "
    "own error comes through. Compare the widths first and raise a ValueError that names both."
)
def widths_not_compared(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "The ValueError for unequal widths comes, but its sentence does not hold both numbers: say how wide the "
    "query is and how wide the key is."
)
def refusal_without_numbers(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("query and key must have the same width")
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.mistake(
    "Unequal widths end in an AssertionError, and assertions can be switched off. Raise a ValueError with "
    "both widths in its sentence instead."
)
def asserted_widths(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    assert query.shape[-1] == key.shape[-1], f"{query.shape[-1]} is not {key.shape[-1]}"
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.also_right
def scales_the_query_first(query, key=None, value=None):
    if key is None:
        key = query
    if value is None:
        value = key
    if query.size(-1) != key.size(-1):
        raise ValueError(f"widths {query.size(-1)} and {key.size(-1)}")
    weights = F.softmax((query * query.size(-1) ** -0.5) @ key.mT, dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.also_right
def by_einsum(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    d_q, d_k = query.shape[-1], key.shape[-1]
    if d_q != d_k:
        raise ValueError(f"The query is {d_q} wide and the key {d_k}.")
    scores = torch.einsum("...qd,...kd->...qk", query, key).div(d_k**0.5)
    weights = nn.Softmax(dim=-1)(scores)
    return [torch.einsum("...qk,...kv->...qv", weights, value), weights]


@scaled_dot_product_attention.also_right
def by_batched_products(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"{query.shape[-1]} != {key.shape[-1]}")
    leading = query.shape[:-2]
    query, key, value = (tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (query, key, value))
    weights = torch.softmax(torch.bmm(query, key.transpose(1, 2)) / math.sqrt(key.shape[-1]), dim=2)
    output = torch.bmm(weights, value)
    return output.reshape(*leading, *output.shape[-2:]), weights.reshape(*leading, *weights.shape[-2:])


@scaled_dot_product_attention.also_right
def query_by_query(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query: {query.shape[-1]}, key: {key.shape[-1]}")
    rows = []
    for i in range(query.shape[-2]):
        scores = (query[..., i : i + 1, :] * key).sum(dim=-1) / math.sqrt(key.shape[-1])
        rows.append(torch.softmax(scores, dim=-1))
    weights = torch.stack(rows, dim=-2)
    return torch.matmul(weights, value), weights


@scaled_dot_product_attention.also_right
def softmax_by_hand_in_place(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query.shape[-1]={query.shape[-1]} but key.shape[-1]={key.shape[-1]}")
    scores = query @ key.transpose(-2, -1)
    scores /= math.sqrt(query.shape[-1])
    scores = scores - scores.amax(dim=-1, keepdim=True).detach()
    weights = scores.exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights
