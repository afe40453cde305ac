"""The exercise `scaled_dot_product_attention`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import FLOATS, FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, case, defaults

scaled_dot_product_attention = Exercise(
    "scaled_dot_product_attention",
    results=("output", "weights"),
    axes=(("queries", "value width"), ("queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
)


def three(draw, leading=0, dtype=torch.float32):
    """A query, a key and a value, all of different sizes, behind as many `leading` dimensions."""
    queries, keys, d_k, d_v, *others = draw.sizes(4 + leading)
    shapes = ((queries, d_k), (keys, d_k), (keys, d_v))
    return [draw.normal(*others, *shape, dtype=dtype) for shape in shapes]


@scaled_dot_product_attention.group("one sentence that attends to itself", points=1)
def self_attention(draw):
    tokens, d_k = draw.sizes(2)
    for dtype in FLOATS:
        yield case(draw.normal(tokens, d_k, dtype=dtype))


@scaled_dot_product_attention.group("query, key and value of different sizes", points=2)
def unequal_sizes(draw):
    query, key, value = three(draw)
    yield case(query, key, value)
    yield case(query, key)
    yield case(*three(draw, dtype=torch.float64))
    tokens, d_k, d_v = draw.sizes(3)
    yield case(draw.normal(tokens, d_k), value=draw.normal(tokens, d_v))


@scaled_dot_product_attention.group("batches and heads", points=1)
def leading_dimensions(draw):
    yield case(*three(draw, leading=1))
    yield case(*three(draw, leading=2))


@scaled_dot_product_attention.group("equal sizes, and a batch of one", points=1)
def equal_sizes(draw):
    size, d_k = draw.sizes(2)
    yield case(draw.normal(size, size), draw.normal(size, size), draw.normal(size, size))
    yield case(draw.normal(size, size, d_k), draw.normal(size, size, d_k), draw.normal(size, size, d_k))
    yield case(draw.normal(1, 1, d_k), draw.normal(1, size, d_k))


@scaled_dot_product_attention.group("large scores", points=1)
def large_scores(draw):
    # In float64, where scores of a thousand still have digits to compare.
    query, key, value = three(draw, dtype=torch.float64)
    yield case(30 * query, 30 * key, value)


@scaled_dot_product_attention.group("refuses widths that differ", points=1)
def unequal_widths(draw):
    queries, keys, d_k, other, batch = draw.sizes(5)
    yield case(draw.normal(queries, d_k), draw.normal(keys, other), refuses=(d_k, other))
    yield case(draw.normal(batch, queries, d_k), draw.normal(batch, keys, other), refuses=(d_k, other))


@scaled_dot_product_attention.group("gradients", points=1)
def gradients(draw):
    yield case(*three(draw, leading=1), gradients=True)
    tokens, d_k = draw.sizes(2)
    yield case(draw.normal(tokens, d_k), gradients=True)


@scaled_dot_product_attention.accepted_alternative(
    "Scale the query before the product, as fast implementations do: this needs fewer divisions if there "
    "are many keys, and the intermediate numbers are smaller. The formula is a little harder to see."
)
def scales_the_query_first(query, key=None, value=None):
    if key is None:
        key = query
    if value is None:
        value = key
    if query.size(-1) != key.size(-1):
        raise ValueError(f"widths {query.size(-1)} and {key.size(-1)}")
    # To the power -1/2 is 1 over the root; .mT swaps the last two axes of key.
    weights = F.softmax((query * query.size(-1) ** -0.5) @ key.mT, dim=-1)
    return weights @ value, weights


@scaled_dot_product_attention.accepted_alternative
def by_einsum(query, key=None, value=None):
    key, value = defaults(query, key, value)
    d_q, d_k = query.shape[-1], key.shape[-1]
    if d_q != d_k:
        raise ValueError(f"The query is {d_q} wide and the key {d_k}.")
    scores = torch.einsum("...qd,...kd->...qk", query, key).div(d_k**0.5)
    weights = nn.Softmax(dim=-1)(scores)
    return [torch.einsum("...qk,...kv->...qv", weights, value), weights]


@scaled_dot_product_attention.accepted_alternative
def by_batched_products(query, key=None, value=None):
    key, value = defaults(query, key, value)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"{query.shape[-1]} != {key.shape[-1]}")
    leading = query.shape[:-2]
    query, key, value = (tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (query, key, value))
    weights = torch.softmax(torch.bmm(query, key.transpose(1, 2)) / math.sqrt(key.shape[-1]), dim=2)
    output = torch.bmm(weights, value)
    return output.reshape(*leading, *output.shape[-2:]), weights.reshape(*leading, *weights.shape[-2:])


@scaled_dot_product_attention.accepted_alternative(
    "One query after the other: you can print and follow each step, and no axis has to be swapped. It is a "
    "Python loop, so it is slow for many queries."
)
def query_by_query(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query: {query.shape[-1]}, key: {key.shape[-1]}")
    rows = []
    for i in range(query.shape[-2]):
        # One query, (..., 1, d_k), lines up with every key: its scores are (..., T_k).
        scores = (query[..., i : i + 1, :] * key).sum(dim=-1) / math.sqrt(key.shape[-1])
        rows.append(torch.softmax(scores, dim=-1))
    weights = torch.stack(rows, dim=-2)
    return torch.matmul(weights, value), weights


@scaled_dot_product_attention.accepted_alternative
def softmax_by_hand_in_place(query, key=None, value=None):
    key, value = defaults(query, key, value)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query.shape[-1]={query.shape[-1]} but key.shape[-1]={key.shape[-1]}")
    scores = query @ key.transpose(-2, -1)
    scores /= math.sqrt(query.shape[-1])
    scores = scores - scores.amax(dim=-1, keepdim=True).detach()
    weights = scores.exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights
