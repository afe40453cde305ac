"""The exercise `score`, and the mistakes it can name."""

import math

import torch
import torch.nn.functional as F

from attention_lab.authoring import FLOATS, SUMS_OF_PRODUCTS, Exercise, case

score = Exercise(
    "score",
    results=("scores",),
    axes=(("keys",),),
    tolerance=SUMS_OF_PRODUCTS,
)


@score.group("one query, several keys", points=1)
def several_keys(draw):
    length, width = draw.sizes(2)
    for dtype in FLOATS:
        yield case(draw.normal(width, dtype=dtype), draw.normal(length, width, dtype=dtype))


@score.group("as many keys as numbers in each, and one key alone", points=1)
def square_and_single(draw):
    size, width = draw.sizes(2)
    yield case(draw.normal(size), draw.normal(size, size))
    yield case(draw.normal(width), draw.normal(1, width))


@score.group("gradients", points=1)
def gradients(draw):
    length, width = draw.sizes(2)
    yield case(draw.normal(width), draw.normal(length, width), gradients=True)


@score.mistake(
    "You multiplied query and key number by number, but did not add up. A dot product is one number per "
    "key: sum over the d numbers of each key."
)
def not_added_up(query, key):
    return query * key


@score.mistake(
    "You added along the wrong axis: the result has one number per column of key instead of one per row. "
    "Each row of key is one key, so sum over the last axis."
)
def added_over_the_keys(query, key):
    return (query * key).sum(dim=0)


@score.mistake(
    "All the scores are added into a single number. Each key needs a score of its own: sum over the last "
    "axis only, so that T numbers are left."
)
def one_number_for_all(query, key):
    return (query * key).sum()


@score.mistake(
    "You return the score of the first key only: a return inside the loop ends the function in the "
    "first iteration. Collect the scores of all rows, then return them."
)
def returns_in_the_loop(query, key):
    for row in key:
        return row @ query


@score.mistake(
    "This pairs the query with the columns of key, but the keys are its rows. It fails unless T equals d. "
    "The d of the query has to meet the d of the key, its last axis."
)
def columns_as_keys(query, key):
    return query @ key


@score.mistake(
    "Each score is too small by the factor √d. The scaling comes in lesson 2; this exercise asks for the "
    "plain dot product."
)
def already_scaled(query, key):
    return key @ query / math.sqrt(key.shape[-1])


@score.mistake(
    "Each score is too small by the factor d: you took the mean of the products. A dot product is their sum."
)
def mean_of_the_products(query, key):
    return (query * key).mean(dim=-1)


@score.mistake(
    "These are cosines: you divided by the lengths of query and key. A dot product does not: use the "
    "vectors as they are."
)
def cosine(query, key):
    return F.cosine_similarity(query.unsqueeze(0), key, dim=-1)


@score.mistake(
    "These numbers sum to 1: they are weights already. A score is the plain dot product; the softmax is the "
    "next exercise."
)
def already_weights(query, key):
    return torch.softmax(key @ query, dim=-1)


@score.mistake(
    "The numbers are right, but in a column, (T, 1). One number per key has the shape (T,): remove the last "
    "axis, for example with squeeze(-1)."
)
def as_a_column(query, key):
    return (query * key).sum(dim=-1, keepdim=True)


@score.mistake(
    "The numbers were taken out of torch and put into a new tensor: no gradient reaches query and key, and "
    "float64 becomes float32. Use torch operations throughout; torch.stack joins tensors and keeps "
    "gradients and dtype."
)
def rebuilt_from_plain_numbers(query, key):
    return torch.tensor([(row @ query).item() for row in key])


@score.mistake(
    "These are squared distances between query and key: the best fit gets the smallest number. A dot "
    "product multiplies the two vectors number by number and adds up; nothing is subtracted."
)
def squared_distance(query, key):
    return ((query - key) ** 2).sum(dim=-1)


@score.accepted_alternative(
    "Key by key: the plainest way to write what a score is, and easy to print from. It is slow, because "
    "every key needs its own call."
)
def loop(query, key):
    return torch.stack([torch.dot(query, row) for row in key])


@score.accepted_alternative(
    "Number by number, then a sum: it reads like the formula, and names the axis that is summed over. All "
    "the products are in memory before they are added."
)
def broadcast_and_sum(query, key):
    # (d,) lines up with every row of (T, d); the sum over d leaves (T,).
    return (query * key).sum(dim=-1)


@score.accepted_alternative
def einsum(query, key):
    return torch.einsum("d,td->t", query, key)


@score.accepted_alternative
def query_on_the_left(query, key):
    return query @ key.T


@score.accepted_alternative
def as_matrices(query, key):
    return torch.matmul(key, query.unsqueeze(-1)).squeeze(-1)


@score.accepted_alternative
def number_by_number(query, key):
    total = key.new_zeros(key.shape[0])
    for index in range(key.shape[1]):
        total += query[index] * key[:, index]
    return total


@score.accepted_alternative
def linear_layer(query, key):
    return F.linear(query, key)
