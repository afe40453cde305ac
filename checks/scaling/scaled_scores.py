"""The exercise `scaled_scores`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import FLOATS, SUMS_OF_PRODUCTS, Exercise, add_mistakes, case

scaled_scores = Exercise(
    "scaled_scores",
    results=("scores",),
    axes=(("queries", "keys"),),
    tolerance=SUMS_OF_PRODUCTS,
)


@scaled_scores.group("one sentence", points=1)
def one_sentence(draw):
    queries, keys, d_k = draw.sizes(3)
    for dtype in FLOATS:
        yield case(draw.normal(queries, d_k, dtype=dtype), draw.normal(keys, d_k, dtype=dtype))


@scaled_scores.group("batches and heads", points=2)
def leading_dimensions(draw):
    batch, heads, queries, keys, d_k = draw.sizes(5)
    yield case(draw.normal(batch, queries, d_k), draw.normal(batch, keys, d_k))
    yield case(draw.normal(batch, heads, queries, d_k), draw.normal(batch, heads, keys, d_k))


@scaled_scores.group("equal sizes, and a batch of one", points=1)
def equal_sizes(draw):
    size, d_k = draw.sizes(2)
    yield case(draw.normal(size, size), draw.normal(size, size))
    yield case(draw.normal(size, size, d_k), draw.normal(size, size, d_k))
    yield case(draw.normal(1, 1, d_k), draw.normal(1, 1, d_k))


@scaled_scores.group("gradients", points=1)
def gradients(draw):
    batch, queries, keys, d_k = draw.sizes(4)
    yield case(draw.normal(batch, queries, d_k), draw.normal(batch, keys, d_k), gradients=True)


def own_standard_deviation(query, key):
    scores = query @ key.transpose(-2, -1)
    variance = (scores - scores.mean()).square().sum() / (scores.numel() - 1)
    return scores / variance.sqrt()


add_mistakes(
    scaled_scores,
    divided_by_d_k=(
        "The scores are divided by d_k, not by its square root, so they shrink as vectors grow wider. "
        "Dividing both query and key by the root has the same effect: divide once.",
        lambda query, key: query @ key.transpose(-2, -1) / query.shape[-1],
    ),
    not_scaled=(
        "These are the plain dot products: the division by the root of the width d_k is missing, or its "
        "result is not used.",
        lambda query, key: query @ key.transpose(-2, -1),
    ),
    multiplied_by_the_root=(
        "The scores are d_k times too large: you multiplied by the root of d_k. Divide by it.",
        lambda query, key: query @ key.transpose(-2, -1) * math.sqrt(query.shape[-1]),
    ),
    root_of_the_number_of_keys=(
        "The scores are divided by the root of the number of keys T_k, not of the width d_k. A score is a "
        "sum of d_k products: use the last axis of the query or the key.",
        lambda query, key: query @ key.transpose(-2, -1) / math.sqrt(key.shape[-2]),
    ),
    root_of_the_number_of_queries=(
        "The scores are divided by the root of the number of queries T_q, not of the width d_k. A score is a "
        "sum of d_k products: use the last axis of the query or the key.",
        lambda query, key: query @ key.transpose(-2, -1) / math.sqrt(query.shape[-2]),
    ),
    root_of_axis_one=(
        "Right for one sentence; in a batch, axis 1 is not the width d_k, but your divisor is its root. "
        "Count the axis from the end.",
        lambda query, key: query @ key.transpose(-2, -1) / math.sqrt(query.shape[1]),
    ),
    root_of_the_first_axis=(
        "The scores are divided by the root of the *first* axis of the query (the number of queries, or of "
        "sentences in a batch). The width d_k is the last axis.",
        lambda query, key: query @ key.transpose(-2, -1) / math.sqrt(len(query)),
    ),
    hard_coded_8=(
        "The scores are divided by 8 at every width. That is the root for d_k = 64 only: take the width from "
        "the tensors.",
        lambda query, key: query @ key.transpose(-2, -1) / 8,
    ),
    own_standard_deviation=(
        "The scores are divided by their own standard deviation, so they depend on the other scores. √d_k is "
        "what it is on average: divide by the root of the width, which is known before there are scores.",
        own_standard_deviation,
    ),
    transposed=(
        "The result is transposed: row i should hold the scores of *query* i with every key, so queries are "
        "rows and keys are columns.",
        lambda query, key: key @ query.transpose(-2, -1) / math.sqrt(query.shape[-1]),
    ),
    all_axes_reversed=(
        "Right for one sentence, wrong in a batch: `.T` reverses *all* axes of the key, the batch axis too. "
        "Swap only the last two.",
        lambda query, key: query @ key.permute(*reversed(range(key.dim()))) / math.sqrt(query.shape[-1]),
    ),
    softmax_applied=(
        "These are weights: the rows sum to 1. The softmax comes in the next exercise; return the scaled "
        "scores.",
        lambda query, key: torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1),
    ),
)


@scaled_scores.mistake(
    "The numbers are right, but the caller's `query` has been divided too: an in-place operation changed the "
    "argument. Make a new tensor."
)
def query_scaled_in_place(query, key):
    with torch.no_grad():
        query /= math.sqrt(query.shape[-1])
    return query @ key.transpose(-2, -1)


@scaled_scores.accepted_alternative(
    "Divide the query before the product: this needs one division per number of the query instead of one "
    "per score, and the intermediate numbers are smaller, which helps in float16. The formula is a little "
    "harder to see."
)
def scales_the_query_first(query, key):
    # To the power -1/2 is 1 over the root; .mT swaps the last two axes and no others.
    return (query * query.size(-1) ** -0.5) @ key.mT


@scaled_scores.accepted_alternative(
    "einsum: the axes have names, so nothing has to be transposed. It is slower to read if the notation is "
    "new to you."
)
def by_einsum(query, key):
    return torch.einsum("...qd,...kd->...qk", query, key) / key.shape[-1] ** 0.5


@scaled_scores.accepted_alternative
def key_by_key_in_place(query, key):
    columns = [(query * key[..., i : i + 1, :]).sum(dim=-1) for i in range(key.shape[-2])]
    scores = torch.stack(columns, dim=-1)
    scores /= math.sqrt(query.shape[-1])
    return scores
