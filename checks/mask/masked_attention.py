"""The exercise `masked_attention`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import FLOATS, FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, case, defaults

masked_attention = Exercise(
    "masked_attention",
    results=("output", "weights"),
    axes=(("queries", "value width"), ("queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
)


def _causal(length):
    return torch.ones(length, length).tril().bool()


@masked_attention.group("self-attention under a causal mask", points=1)
def causal_self_attention(draw):
    batch, length, width = draw.sizes(3)
    for dtype in FLOATS:
        yield case(draw.normal(length, width, dtype=dtype), mask=_causal(length))
        yield case(draw.normal(batch, length, width, dtype=dtype), mask=_causal(length))


@masked_attention.group("without a mask", points=1)
def without_a_mask(draw):
    queries, keys, width, batch = draw.sizes(4)
    yield case(draw.normal(queries, width))
    yield case(draw.normal(queries, width), draw.normal(keys, width))
    yield case(draw.normal(batch, queries, width), draw.normal(batch, keys, width))
    yield case(draw.normal(queries, width), value=draw.normal(queries, keys))
    yield case(*draw.normal(3, queries, width))  # all of one shape


@masked_attention.group("other keys and values, unequal sizes", points=1)
def unequal_sizes(draw):
    batch, queries, keys, width, value_width = draw.sizes(5)
    query, key = draw.normal(batch, queries, width), draw.normal(batch, keys, width)
    query[1], key[1] = query[0], key[0]  # the same text twice, under masks of their own
    yield case(query, key, draw.normal(batch, keys, value_width), draw.mask(queries, keys))
    yield case(query, key, mask=draw.mask(batch, queries, keys))
    yield case(query[0], key[0], draw.normal(keys, value_width), mask=draw.mask(queries, keys))
    # As many sentences as queries: the mask still has a row for each query, and none for a sentence.
    yield case(
        draw.normal(queries, queries, width), draw.normal(queries, keys, width), mask=draw.mask(queries, keys)
    )


@masked_attention.group("batches and heads, equal sizes too", points=1)
def batches_and_heads(draw):
    batch, length, width, size = draw.sizes(4)
    yield case(draw.normal(batch, length, width), mask=draw.mask(batch, 1, length))
    yield case(draw.normal(1, length, width), mask=draw.mask(1, 1, length))
    yield case(draw.normal(batch, 2, length, width), mask=_causal(length))
    yield case(draw.normal(size, size, size), mask=draw.mask(size, 1, size))
    yield case(draw.normal(size, size, size), mask=draw.mask(size, size, size))


def _hidden_above(draw):
    """Scores of 1e4 where a key is hidden, and of -1e4 for the one that is not and has all the weight."""
    queries, keys, value_width = draw.sizes(3)
    visible = torch.arange(keys) == draw.integer(0, keys - 1)
    query = torch.tensor([200.0, 0, 0, 0]).repeat(queries, 1)
    key = draw.normal(keys, 4)
    key[:, 0] = torch.where(visible, -100.0, 100.0)
    return case(query, key, draw.normal(keys, value_width), visible.expand(queries, keys).clone())


@masked_attention.group("nothing to attend to, and large scores", points=1)
def nothing_to_attend_to(draw):
    yield _hidden_above(draw)
    batch, queries, keys, width, value_width = draw.sizes(5)
    mask = draw.mask(batch, queries, keys)
    mask[draw.integer(0, batch - 1), draw.integer(0, queries - 1)] = False
    key, value = draw.normal(batch, keys, width), draw.normal(batch, keys, value_width)
    yield case(draw.normal(batch, queries, width), key, value, mask)
    empty_sentence = draw.mask(batch, 1, keys)
    empty_sentence[draw.integer(0, batch - 1)] = False
    yield case(draw.normal(batch, keys, width, dtype=torch.float64), mask=empty_sentence)


@masked_attention.group("gradients, also of a query with nothing to attend to", points=2)
def gradients(draw):
    batch, queries, keys, width, value_width = draw.sizes(5)
    for dtype in FLOATS:
        query = draw.normal(batch, queries, width, dtype=dtype)
        key = draw.normal(batch, keys, width, dtype=dtype)
        value = draw.normal(batch, keys, value_width, dtype=dtype)
        mask = draw.mask(queries, keys)
        yield case(query, key, value, mask, gradients=True)
        one_empty = mask & (torch.arange(queries) != draw.integer(0, queries - 1)).unsqueeze(1)
        yield case(query, key, value, one_empty, gradients=True)


@masked_attention.accepted_alternative(
    "einsum names the axes, so you need not remember which comes last, and one line serves with and "
    "without a mask because there always is one. It costs a table of ones."
)
def with_where_and_einsum(query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    scores = torch.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    weights = torch.where(mask, torch.where(mask, scores, -torch.inf).softmax(dim=-1), 0.0)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@masked_attention.accepted_alternative(
    "The query is scaled before the product: T_q · d divisions in place of T_q · T_k, which is how "
    "libraries do it. The finite fill works only because of the product with the mask behind it."
)
def scaled_query_and_large_number(query, key=None, value=None, mask=None):
    if key is None:
        key = query
    if value is None:
        value = key
    weights = torch.matmul(query / math.sqrt(query.size(-1)), key.mT)
    if mask is not None:
        weights = weights.masked_fill(mask.logical_not(), -1e9).softmax(-1) * mask
    else:
        weights = weights.softmax(-1)
    return [torch.matmul(weights, value), weights]


@masked_attention.accepted_alternative
def sequence_by_sequence(query, key=None, value=None, mask=None):
    key, value = defaults(query, key, value)
    if query.dim() > 2:
        masks = [mask] * len(query) if mask is None or mask.dim() == 2 else mask
        results = [sequence_by_sequence(*parts) for parts in zip(query, key, value, masks, strict=True)]
        outputs, weights = zip(*results, strict=True)
        return torch.stack(outputs), torch.stack(weights)
    rows = []
    for position, vector in enumerate(query):
        row = torch.zeros(len(key), dtype=query.dtype)
        keep = slice(None) if mask is None else mask[position if len(mask) > 1 else 0]
        row[keep] = torch.softmax(key[keep] @ vector / math.sqrt(len(vector)), dim=0)
        rows.append(row)
    weights = torch.stack(rows)
    return weights @ value, weights


@masked_attention.accepted_alternative
def with_bmm_and_nan_to_num(query, key=None, value=None, mask=None):
    key, value = defaults(query, key, value)
    flat = [tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (query, key, value)]
    scores = torch.bmm(flat[0], flat[1].transpose(1, 2)).mul(1 / math.sqrt(query.shape[-1]))
    scores = scores.view(*query.shape[:-1], key.shape[-2])
    weights = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    weights = torch.nan_to_num(torch.softmax(weights, dim=-1), nan=0.0)
    output = torch.bmm(weights.reshape(-1, *weights.shape[-2:]), flat[2])
    return output.view(*query.shape[:-1], value.shape[-1]), weights


@masked_attention.accepted_alternative
def exponentials_by_hand(query, key=None, value=None, mask=None):
    key, value = defaults(query, key, value)
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(dim=-1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    exponentials = exponentials if mask is None else exponentials * mask
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1)
    return weights @ value, weights
