"""The exercise `project`, and the mistakes it can name."""

import torch
import torch.nn.functional as F

from attention_lab.authoring import FLOATS, SUMS_OF_PRODUCTS, Exercise, add_mistakes, case

project = Exercise(
    "project",
    results=("query", "key", "value"),
    axes=(("tokens", "query width"), ("tokens", "key width"), ("tokens", "value width")),
    tolerance=SUMS_OF_PRODUCTS,
)


def _weights(draw, embed_dim, *widths, dtype=torch.float32):
    return [draw.normal(embed_dim, width, dtype=dtype) for width in widths]


@project.group("three widths", points=1)
def three_widths(draw):
    length, embed_dim, *widths = draw.sizes(5)
    for dtype in FLOATS:
        x = draw.normal(length, embed_dim, dtype=dtype)
        yield case(x, *_weights(draw, embed_dim, *widths, dtype=dtype))


@project.group("batches", points=1)
def batches(draw):
    batch, heads, length, embed_dim, width, value_width = draw.sizes(6)
    yield case(draw.normal(batch, length, embed_dim), *_weights(draw, embed_dim, width, width, value_width))
    yield case(
        draw.normal(batch, heads, length, embed_dim), *_weights(draw, embed_dim, width, width, value_width)
    )


@project.group("all axes of one size, and a batch of one", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    yield case(draw.normal(size, size), *_weights(draw, size, size, size, size))
    yield case(draw.normal(size, size, size), *_weights(draw, size, size, size, size))
    yield case(draw.normal(1, 1, size), *_weights(draw, size, size, size, size))


@project.group("gradients", points=1)
def gradients(draw):
    length, embed_dim, width, value_width = draw.sizes(4)
    yield case(
        draw.normal(length, embed_dim), *_weights(draw, embed_dim, width, width, value_width), gradients=True
    )


def one_from_the_other(x, w_query, w_key, w_value):
    query = x @ w_query
    key = query @ w_key
    return query, key, key @ w_value


def batch_flattened(x, w_query, w_key, w_value):
    tokens = x.reshape(-1, x.shape[-1])
    return tokens @ w_query, tokens @ w_key, tokens @ w_value


add_mistakes(
    project,
    key_by_the_query_weight=(
        "The key is made with w_query: changing w_key changes nothing. Each of the three has a weight of its "
        "own.",
        lambda x, w_query, w_key, w_value: (x @ w_query, x @ w_query, x @ w_value),
    ),
    value_by_the_key_weight=(
        "The value is made with w_key: changing w_value changes nothing. Each of the three has a weight of "
        "its own.",
        lambda x, w_query, w_key, w_value: (x @ w_query, x @ w_key, x @ w_key),
    ),
    all_by_the_query_weight=(
        "All three are made with w_query: changing w_key or w_value changes nothing. Each of the three has a "
        "weight of its own.",
        lambda x, w_query, w_key, w_value: (x @ w_query, x @ w_query, x @ w_query),
    ),
    value_not_projected=(
        "The value is x itself: w_value is never used. All three are projected: query, key and value.",
        lambda x, w_query, w_key, w_value: (x @ w_query, x @ w_key, x),
    ),
    weights_transposed=(
        "You transposed the weights, as for nn.Linear. Here a weight is (E, width), so the E of x already "
        "meets its first axis: do not transpose.",
        lambda x, w_query, w_key, w_value: (x @ w_query.T, x @ w_key.T, x @ w_value.T),
    ),
    weight_on_the_left=(
        "The product is in the wrong order: the last axis of the weight meets the tokens of x. The last axis "
        "of x and the first axis of the weight are both E: put x on the left.",
        lambda x, w_query, w_key, w_value: (w_query @ x, w_key @ x, w_value @ x),
    ),
    one_from_the_other=(
        "You made the key from the query and the value from the key. Make all three from x.",
        one_from_the_other,
    ),
    batch_flattened=(
        "The leading axes are lost: a batch becomes one long list of tokens. Keep the shape of x, and change "
        "only its last axis.",
        batch_flattened,
    ),
    key_first=(
        "Query and key are swapped: w_query makes the first result, w_key the second. Return (query, key, "
        "value), in that order.",
        lambda x, w_query, w_key, w_value: (x @ w_key, x @ w_query, x @ w_value),
    ),
    value_first=(
        "The value comes first: w_query makes the first result, w_key the second, w_value the third. Return "
        "(query, key, value), in that order.",
        lambda x, w_query, w_key, w_value: (x @ w_value, x @ w_key, x @ w_query),
    ),
    number_by_number=(
        "Tokens and weights are multiplied number by number. A projection mixes the numbers of a token: use "
        "a matrix product, which sums over E.",
        lambda x, w_query, w_key, w_value: (x * w_query, x * w_key, x * w_value),
    ),
    side_by_side=(
        "You return one tensor with query, key and value side by side. Return three tensors: (query, key, "
        "value).",
        lambda x, w_query, w_key, w_value: torch.cat([x @ w_query, x @ w_key, x @ w_value], dim=-1),
    ),
    cut_off_from_the_gradient=(
        "The numbers are right, but no gradient reaches the weights: .detach(), .data or a new nn.Parameter "
        "or torch.tensor made from them cuts it off. Use x and the weights directly.",
        lambda x, w_query, w_key, w_value: (x @ w_query.detach(), x @ w_key.detach(), x @ w_value.detach()),
    ),
)


@project.accepted_alternative(
    "einsum over a list of weights: the axes are named, and nothing is written three times. The names "
    "query, key and value no longer appear in the code."
)
def einsum(x, w_query, w_key, w_value):
    return tuple(torch.einsum("...te,ew->...tw", x, weight) for weight in (w_query, w_key, w_value))


@project.accepted_alternative
def list_of_linear(x, w_query, w_key, w_value):
    return [F.linear(x, weight.T) for weight in (w_query, w_key, w_value)]


@project.accepted_alternative(
    "One large product, then a split, as in fast implementations. It needs a new matrix, and the order of "
    "the parts must be right."
)
def one_product_then_split(x, w_query, w_key, w_value):
    weights = (w_query, w_key, w_value)
    # Side by side, (E, all widths together): every column is a sum of its own, so the cut changes nothing.
    return (x @ torch.cat(weights, dim=1)).split([weight.shape[1] for weight in weights], dim=-1)


@project.accepted_alternative
def broadcast_and_sum(x, w_query, w_key, w_value):
    return tuple((x.unsqueeze(-1) * weight).sum(dim=-2) for weight in (w_query, w_key, w_value))
