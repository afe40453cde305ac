"""The exercise `dot_product_attention`, and the mistakes it can name."""

import torch

from attention_lab.authoring import (
    FLOATS,
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    add_mistakes,
    attention,
    case,
    defaults,
)

dot_product_attention = Exercise(
    "dot_product_attention",
    results=("output", "weights"),
    axes=(("queries", "value width"), ("queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
)


@dot_product_attention.group("self-attention: only a query", points=1)
def self_attention(draw):
    batch, length, width = draw.sizes(3)
    for dtype in FLOATS:
        yield case(draw.normal(length, width, dtype=dtype))
    yield case(draw.normal(batch, length, width))


@dot_product_attention.group("query, key and value of their own sizes", points=2)
def own_sizes(draw):
    queries, keys, width, value_width = draw.sizes(4)
    for dtype in FLOATS:
        query = draw.normal(queries, width, dtype=dtype)
        yield case(query, draw.normal(keys, width, dtype=dtype), draw.normal(keys, value_width, dtype=dtype))
    yield case(draw.normal(1, width), draw.normal(keys, width), draw.normal(keys, width))


@dot_product_attention.group("key or value left out", points=1)
def left_out(draw):
    queries, keys, width, value_width = draw.sizes(4)
    yield case(draw.normal(queries, width), draw.normal(keys, width))
    yield case(draw.normal(queries, width), key=draw.normal(queries, width))
    yield case(draw.normal(queries, width), value=draw.normal(queries, value_width))


@dot_product_attention.group("batches, and batches of heads", points=1)
def batches(draw):
    batch, heads, queries, keys, width, value_width = draw.sizes(6)
    for leading in ((batch,), (batch, heads)):
        query, key = draw.normal(*leading, queries, width), draw.normal(*leading, keys, width)
        yield case(query, key, draw.normal(*leading, keys, value_width))


@dot_product_attention.group("all axes of one size, and a batch of one", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    for shape in ((size, size), (size, size, size), (1, 1, size)):
        yield case(draw.normal(*shape), draw.normal(*shape), draw.normal(*shape))


@dot_product_attention.group("large scores", points=1)
def large_scores(draw):
    queries, keys, width, value_width = draw.sizes(4)
    # Whole numbers: their dot products are exact in float32, in whatever order they are added.
    query, key = (draw.integers(-9, 9, length, width).float() for length in (queries, keys))
    yield case(query, key, draw.normal(keys, value_width))
    query, key = (100 * draw.normal(length, width, dtype=torch.float64) for length in (queries, keys))
    yield case(query, key, draw.normal(keys, value_width, dtype=torch.float64))


@dot_product_attention.group("gradients", points=1)
def gradients(draw):
    queries, keys, width, value_width = draw.sizes(4)
    query, key = draw.normal(queries, width) / 2, draw.normal(keys, width) / 2
    yield case(query, key, draw.normal(keys, value_width), gradients=True)


add_mistakes(
    dot_product_attention,
    attention,
    softmax_over_the_queries=(
        "The columns of the weights sum to 1, the rows do not: you took the softmax over the queries. Row i "
        "is how query i spreads its attention, so take it over the keys, the last axis of the scores.",
        {"scale": 1.0, "axis": -2},
    ),
    softmax_over_dimension_one=(
        "Right for one sentence, wrong for a batch: you take the softmax over dimension 1, which in a batch "
        "is the queries. Count from the end: the keys are the last axis of the scores.",
        {"scale": 1.0, "axis": 1},
    ),
    nothing_subtracted=(
        "Right for small scores; for large ones exp overflows and the weights are NaN. Subtract from each "
        "row of scores its maximum before exp, or use your own softmax, if it does that.",
        {"scale": 1.0, "softmax": lambda scores: scores.exp() / scores.exp().sum(dim=-1, keepdim=True)},
    ),
    query_with_itself=(
        "The key is never used for the scores: the query is scored with itself. Score the query with the "
        "key.",
        lambda query, key=None, value=None: attention(
            query, query, defaults(query, key, value)[1], scale=1.0
        ),
    ),
    mixes_the_keys=(
        "The weights are right, but they mix the keys. The output is the weighted sum of the values.",
        lambda query, key=None, value=None: attention(query, key, scale=1.0),
    ),
    value_from_the_query=(
        "Without a value, your answer mixes the query. It should mix the key: value=None means value = key.",
        lambda query, key=None, value=None: attention(
            query, key, query if value is None else value, scale=1.0
        ),
    ),
    one_test_for_both=(
        "If a caller gives a value but no key, your answer overwrites that value. Test key and value for "
        "None separately.",
        lambda query, key=None, value=None: attention(query, key, None if key is None else value, scale=1.0),
    ),
    truth_of_a_tensor=(
        "Your code uses a whole tensor as a condition, as in `key or query` or `if key`. Python refuses, "
        "because a tensor of several numbers is neither true nor false. Test whether the argument is None.",
        lambda query, key=None, value=None: attention(query, key or query, value or key or query, scale=1.0),
    ),
    weights_first=(
        "Output and weights are in the wrong order: return (output, weights).",
        lambda query, key=None, value=None: attention(query, key, value, scale=1.0)[::-1],
    ),
    no_softmax=(
        "The softmax is missing: the values are mixed with the scores, and your rows of weights do not sum "
        "to 1. Turn the scores into weights first.",
        {"scale": 1.0, "softmax": lambda scores: scores},
    ),
    already_scaled=(
        "The scores are divided by √d, which makes the weights too even for this lesson. The scaling comes "
        "in lesson 2; use the plain dot products here.",
        {"clear": True},
    ),
    mixes_with_the_columns=(
        "The weights are right, but you transpose them before the product with the value. Row i of the "
        "weights mixes the values for query i: multiply the weights as they are.",
        {"scale": 1.0, "mix": lambda weights, value: weights.mT @ value},
    ),
)


@dot_product_attention.accepted_alternative(
    "einsum: the names q, k, d and v say which axes are summed over and which remain, for both products. It "
    "is slower to read until you know the notation."
)
def einsum(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    # d is in both and not behind the arrow: it is summed over. Then the same with k.
    weights = torch.softmax(torch.einsum("...qd,...kd->...qk", query, key), dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@dot_product_attention.accepted_alternative
def flattened_bmm(query, key=None, value=None):
    key, value = defaults(query, key, value)
    flat_query, flat_key, flat_value = (part.reshape(-1, *part.shape[-2:]) for part in (query, key, value))
    weights = torch.bmm(flat_query, flat_key.mT).softmax(dim=2)
    pair = torch.bmm(weights, flat_value), weights
    return [part.reshape(*query.shape[:-2], *part.shape[1:]) for part in pair]


@dot_product_attention.accepted_alternative(
    "One query after the other: scores, softmax and context vector as for the token *learning*, so you can "
    "print and follow each step. It is a Python loop, so it is slow for many queries."
)
def query_by_query(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    # One query, (..., 1, d), lines up with every key: its scores are (..., T_k).
    scores = [(query[..., index, None, :] * key).sum(dim=-1) for index in range(query.shape[-2])]
    rows = [torch.softmax(row, dim=-1) for row in scores]
    # Each value in its share, added over the tokens: (..., d_v).
    outputs = [(row.unsqueeze(-1) * value).sum(dim=-2) for row in rows]
    return torch.stack(outputs, dim=-2), torch.stack(rows, dim=-2)


@dot_product_attention.accepted_alternative
def keys_by_queries_until_the_end(query, key=None, value=None):
    key, value = defaults(query, key, value)
    columns = torch.nn.Softmax(dim=-2)(key @ query.mT)  # (..., T_k, T_q)
    return (value.mT @ columns).mT, columns.mT


@dot_product_attention.accepted_alternative
def in_place_on_its_own(query, key=None, value=None):
    key, value = defaults(query, key, value)
    weights = torch.matmul(query, key.transpose(-1, -2))
    weights -= weights.detach().max(dim=-1, keepdim=True).values
    weights = weights.exp_()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return torch.matmul(weights, value), weights
