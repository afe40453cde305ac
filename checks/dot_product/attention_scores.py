"""The exercise `attention_scores`, and the mistakes it can name."""

import math

import torch
import torch.nn.functional as F

from attention_lab.authoring import FLOATS, SUMS_OF_PRODUCTS, Exercise, add_mistakes, case

attention_scores = Exercise(
    "attention_scores",
    results=("scores",),
    axes=(("queries", "keys"),),
    tolerance=SUMS_OF_PRODUCTS,
)


@attention_scores.group("one sentence with itself", points=1)
def one_sentence(draw):
    length, width = draw.sizes(2)
    for dtype in FLOATS:
        yield case(draw.normal(length, width, dtype=dtype), draw.normal(length, width, dtype=dtype))


@attention_scores.group("more keys than queries, or fewer", points=1)
def unequal_lengths(draw):
    queries, keys, width = draw.sizes(3)
    yield case(draw.normal(queries, width), draw.normal(keys, width))
    yield case(draw.normal(keys, width), draw.normal(queries, width))
    yield case(draw.normal(1, width), draw.normal(keys, width))


@attention_scores.group("batches, and batches of heads", points=2)
def batches(draw):
    batch, heads, queries, keys, width = draw.sizes(5)
    yield case(draw.normal(batch, queries, width), draw.normal(batch, keys, width))
    yield case(draw.normal(batch, heads, queries, width), draw.normal(batch, heads, keys, width))


@attention_scores.group("all axes of one size, and a batch of one", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    yield case(draw.normal(size, size), draw.normal(size, size))
    yield case(draw.normal(size, size, size), draw.normal(size, size, size))
    yield case(draw.normal(size, size, size, size), draw.normal(size, size, size, size))
    yield case(draw.normal(1, 1, size), draw.normal(1, 1, size))


@attention_scores.group("gradients", points=1)
def gradients(draw):
    batch, queries, keys, width = draw.sizes(4)
    yield case(draw.normal(batch, queries, width), draw.normal(batch, keys, width), gradients=True)


add_mistakes(
    attention_scores,
    capital_t=(
        ".T reverses all the axes of key, not only the last two: right for one sentence, wrong for a batch, "
        "where the sentences become the last axis. Swap the last two axes and do not move the others.",
        lambda query, key: query @ key.permute(*reversed(range(key.dim()))),
    ),
    first_two_axes=(
        "You swap axes 0 and 1 of key. Those are the last two axes only without a batch; in a batch, axis 0 "
        "is the sentences. Count the axes from the end.",
        lambda query, key: query @ key.transpose(0, 1),
    ),
    second_and_third_axes=(
        "You swap axes 1 and 2 of key. Those are the last two axes only in a batch: one sentence has no axis "
        "2, and with heads it is the wrong pair. Count the axes from the end.",
        lambda query, key: query @ key.transpose(1, 2),
    ),
    batches_only=(
        "This works for (B, T, d) only, because the number of axes is fixed in the code. One sentence has no "
        "batch axis, and heads add one more axis: allow any number of axes before the last two.",
        lambda query, key: torch.bmm(query, key.transpose(-2, -1)),
    ),
    keys_by_queries=(
        "The table is transposed: your rows are keys and your columns are queries. Row i belongs to query i, "
        "so put the query on the left of the product.",
        lambda query, key: key @ query.transpose(-2, -1),
    ),
    number_by_number=(
        "Query and key are multiplied number by number, and nothing is added up. A score is the dot product "
        "of one query with one key, for every pair: use a matrix product.",
        lambda query, key: query * key,
    ),
    the_diagonal_only=(
        "Only query i is scored with key i: one number per token, the diagonal of the table. Every query "
        "needs a score with every key, (T_q, T_k) numbers: use a matrix product.",
        lambda query, key: (query * key).sum(dim=-1),
    ),
    key_not_turned=(
        "The key is not transposed: the product pairs the d of query with the T_k of key, which fails unless "
        "they are equal. The last axis of both is d: transpose key so that d meets d.",
        lambda query, key: query @ key,
    ),
    width_by_width=(
        "You summed over the tokens, and the result is (d, d). Sum over d, so that one number is left for "
        "each pair of query and key.",
        lambda query, key: query.transpose(-2, -1) @ key,
    ),
    query_with_itself=(
        "The key is never used: the query is scored with itself. One side of the product has to be the key.",
        lambda query, key: query @ query.transpose(-2, -1),
    ),
    key_with_itself=(
        "The query is never used: the key is scored with itself. The left side of the product has to be the "
        "query.",
        lambda query, key: key @ key.transpose(-2, -1),
    ),
    already_scaled=(
        "Every score is too small by the factor √d. The scaling comes in lesson 2; this exercise asks for "
        "the plain dot products.",
        lambda query, key: query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]),
    ),
    already_weights=(
        "The rows sum to 1: these are weights already. Scores are the dot products before the softmax.",
        lambda query, key: torch.softmax(query @ key.transpose(-2, -1), dim=-1),
    ),
    cosines=(
        "These are cosines: you divided by the lengths of query and key. A dot product does not: use the "
        "vectors as they are.",
        lambda query, key: F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1),
    ),
)


@attention_scores.mistake(
    "The sentences are mixed: the batch is flattened, so every token is scored with the tokens of all "
    "sentences. Keep the leading axes; each sentence has a table of its own."
)
def batch_flattened(query, key):
    width = query.shape[-1]
    return query.reshape(-1, width) @ key.reshape(-1, width).transpose(0, 1)


@attention_scores.mistake(
    "Your table is always square, T_q by T_q, but there may be more keys than queries, or fewer. The number "
    "of columns is the number of keys."
)
def square_table(query, key):
    length = query.shape[-2]
    columns = [(query * key[..., j : j + 1, :]).sum(dim=-1) for j in range(min(length, key.shape[-2]))]
    columns += [torch.zeros_like(columns[0])] * (length - len(columns))
    return torch.stack(columns, dim=-1)


@attention_scores.mistake(
    "The scores are written into a table made by torch.zeros, which is always float32, so float64 input "
    "loses its dtype. Use query.new_zeros, or join the scores with torch.stack."
)
def table_of_float32(query, key):
    scores = torch.zeros(*query.shape[:-1], key.shape[-2])
    for j in range(key.shape[-2]):
        scores[..., j] = (query * key[..., j : j + 1, :]).sum(dim=-1)
    return scores


@attention_scores.accepted_alternative(
    "einsum: the axes have names, so you need not remember which comes last, and nothing is transposed. You "
    "have to learn its notation first."
)
def einsum(query, key):
    return torch.einsum("...qd,...kd->...qk", query, key)


@attention_scores.accepted_alternative(
    "Multiply every pair by broadcasting, then sum: there is no order of a matrix product to get wrong, but "
    "all T_q · T_k · d products are in memory at once."
)
def broadcast_and_sum(query, key):
    # (..., T_q, 1, d) * (..., 1, T_k, d) -> (..., T_q, T_k, d); the sum over d leaves a score per pair.
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(dim=-1)


@attention_scores.accepted_alternative
def turned_at_the_end(query, key):
    return (key @ query.mT).mT


@attention_scores.accepted_alternative
def flattened_bmm(query, key):
    flat = torch.bmm(query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:]).transpose(1, 2))
    return flat.reshape(*query.shape[:-1], key.shape[-2])


@attention_scores.accepted_alternative
def query_by_query(query, key):
    rows = [(key @ query[..., i, :, None]).squeeze(-1) for i in range(query.shape[-2])]
    return torch.stack(rows, dim=-2)
