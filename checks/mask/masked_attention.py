"""What the grader asks about `masked_attention`, and the mistakes it can name."""

import math

import torch

from attention_lab.grading.exercise import Exercise, ask

masked_attention = Exercise(
    "masked_attention",
    results=("output", "weights"),
    axes=(("queries", "value width"), ("queries", "keys")),
    weights=1,
    not_allowed=("fused_attention",),
)


def _causal(length):
    return torch.ones(length, length).tril().bool()


@masked_attention.group("self-attention under a causal mask", points=1)
def causal_self_attention(draw):
    batch, length, width = draw.sizes(3)
    for dtype in (torch.float32, torch.float64):
        yield ask(draw.normal(length, width, dtype=dtype), mask=_causal(length))
        yield ask(draw.normal(batch, length, width, dtype=dtype), mask=_causal(length))


@masked_attention.group("without a mask", points=1)
def without_a_mask(draw):
    queries, keys, width = draw.sizes(3)
    yield ask(draw.normal(queries, width))
    yield ask(draw.normal(queries, width), draw.normal(keys, width))


@masked_attention.group("other keys and values, unequal sizes", points=1)
def unequal_sizes(draw):
    batch, queries, keys, width, value_width = draw.sizes(5)
    query, key = draw.normal(batch, queries, width), draw.normal(batch, keys, width)
    yield ask(query, key, draw.normal(batch, keys, value_width), draw.mask(queries, keys))
    yield ask(query, key, mask=draw.mask(batch, queries, keys))
    yield ask(query[0], key[0], draw.normal(keys, value_width), mask=draw.mask(queries, keys))


@masked_attention.group("batches and heads, equal sizes too", points=1)
def batches_and_heads(draw):
    batch, length, width, size = draw.sizes(4)
    yield ask(draw.normal(batch, length, width), mask=draw.mask(batch, 1, length))
    yield ask(draw.normal(batch, 2, length, width), mask=_causal(length))
    yield ask(draw.normal(size, size, size), mask=draw.mask(size, 1, size))
    yield ask(draw.normal(size, size, size), mask=draw.mask(size, size, size))


@masked_attention.group("nothing to attend to", points=1)
def nothing_to_attend_to(draw):
    batch, queries, keys, width, value_width = draw.sizes(5)
    mask = draw.mask(batch, queries, keys)
    mask[draw.integer(0, batch - 1), draw.integer(0, queries - 1)] = False
    key, value = draw.normal(batch, keys, width), draw.normal(batch, keys, value_width)
    yield ask(draw.normal(batch, queries, width), key, value, mask)
    empty_sentence = draw.mask(batch, 1, keys)
    empty_sentence[draw.integer(0, batch - 1)] = False
    yield ask(draw.normal(batch, keys, width, dtype=torch.float64), mask=empty_sentence)


@masked_attention.group("gradients, also of a query with nothing to attend to", points=2)
def gradients(draw):
    batch, queries, keys, width, value_width = draw.sizes(5)
    for dtype in (torch.float32, torch.float64):
        query = draw.normal(batch, queries, width, dtype=dtype)
        key = draw.normal(batch, keys, width, dtype=dtype)
        value = draw.normal(batch, keys, value_width, dtype=dtype)
        mask = draw.mask(queries, keys)
        yield ask(query, key, value, mask, gradients=True)
        one_empty = mask & (torch.arange(queries) != draw.integer(0, queries - 1)).unsqueeze(1)
        yield ask(query, key, value, one_empty, gradients=True)


def _attend(query, key, value, mask, *, fill=-math.inf, scale=None, axis=-1, clear=True, add=False):
    """Right as it stands: most mistakes below change one thing about it."""
    key = query if key is None else key
    value = key if value is None else value
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        filled = torch.zeros_like(scores).masked_fill(~mask, fill)
        scores = scores + filled if add else scores.masked_fill(~mask, fill)
    weights = torch.softmax(scores, dim=axis)
    if mask is not None and clear:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


@masked_attention.mistake(
    "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
    "softmax, and mind that a method like `masked_fill` returns a new tensor that has to be kept."
)
def mask_ignored(query, key=None, value=None, mask=None):
    return _attend(query, key, value, None)


@masked_attention.mistake(
    'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
    'attend", so it is the False entries that have to be hidden.'
)
def true_means_hidden(query, key=None, value=None, mask=None):
    return _attend(query, key, value, None if mask is None else ~mask)


@masked_attention.mistake(
    "Masked after the softmax: hidden weights are 0, but they had already taken their share, so the rows "
    "of `weights` sum to less than 1. Hide the *scores*, before the softmax."
)
def after_the_softmax(query, key=None, value=None, mask=None):
    value = value if value is not None else query if key is None else key
    _, weights = _attend(query, key, value, None)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@masked_attention.mistake(
    "The weights are right, but `output` was made from the weights before they were masked: it still "
    "mixes in the values of hidden keys. Compute the output last, from the weights you return."
)
def output_from_unmasked_weights(query, key=None, value=None, mask=None):
    return _attend(query, key, value, None)[0], _attend(query, key, value, mask)[1]


@masked_attention.mistake(
    "Hidden scores are set to 0 (or multiplied by 0), and a score of 0 is an ordinary score: exp(0) = 1, "
    "so hidden keys keep their weight. Only a score of minus infinity has an exponential of 0."
)
def fills_with_zero(query, key=None, value=None, mask=None):
    return _attend(query, key, value, mask, fill=0.0, clear=False)


@masked_attention.mistake(
    "The mask is right, but the scores are not scaled: the weights are too sharp. Divide the scores by "
    "the square root of the query's width, as in lesson 2."
)
def unscaled(query, key=None, value=None, mask=None):
    return _attend(query, key, value, mask, scale=1)


@masked_attention.mistake(
    "The columns of `weights` sum to 1, the rows do not: row i is how query i spreads its attention. "
    "Normalise over the keys, the last dimension."
)
def over_the_queries(query, key=None, value=None, mask=None):
    return _attend(query, key, value, mask, axis=-2)


@masked_attention.mistake(
    "A query with nothing to attend to is NaN, in `weights` and in `output`: a row of nothing but -inf "
    "cannot be normalised. Use the masked softmax you wrote, or clear the hidden weights before they meet"
    " the values."
)
def empty_row_is_nan(query, key=None, value=None, mask=None):
    return _attend(query, key, value, mask, clear=False)


@masked_attention.mistake(
    "A query with nothing to attend to spreads its attention evenly over the hidden keys: beside other "
    "scores of -1e9 that fill hides nothing. Such a row of `weights` should be all zeros: clear its "
    "hidden entries as well."
)
def empty_row_is_uniform(query, key=None, value=None, mask=None):
    return _attend(query, key, value, mask, fill=-1e9, clear=False)


@masked_attention.mistake(
    "The numbers are right, but the gradient of a query with nothing to attend to is NaN: -inf was "
    "*added* to the scores, and the backward pass leads straight through it. Replace the hidden scores "
    "instead of adding to them."
)
def additive_mask(query, key=None, value=None, mask=None):
    return _attend(query, key, value, mask, add=True)


@masked_attention.mistake(
    "The call fails when no mask is given: `mask` is None by default, and None means that every query may"
    " attend to every key. Use the mask only where there is one."
)
def needs_a_mask(query, key=None, value=None, mask=None):
    _ = ~mask
    return _attend(query, key, value, mask)


@masked_attention.mistake(
    "`output` is mixed from the keys: the `value` that was passed is never used. The weights pick from "
    "the values; only where `value` is None are they the keys."
)
def keys_instead_of_values(query, key=None, value=None, mask=None):
    return _attend(query, key, None, mask)


@masked_attention.mistake(
    "Where `value` is None, the queries were used in its place. What is retrieved belongs to the keys: "
    "the default of `value` is `key`."
)
def value_defaults_to_query(query, key=None, value=None, mask=None):
    return _attend(query, key, query if value is None else value, mask)


@masked_attention.also_right
def with_where_and_einsum(query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    scores = torch.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    weights = torch.where(mask, torch.where(mask, scores, -torch.inf).softmax(dim=-1), 0.0)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@masked_attention.also_right
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


@masked_attention.also_right
def sequence_by_sequence(query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
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


@masked_attention.also_right
def with_bmm_and_nan_to_num(query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    flat = [tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (query, key, value)]
    scores = torch.bmm(flat[0], flat[1].transpose(1, 2)).mul(1 / math.sqrt(query.shape[-1]))
    scores = scores.view(*query.shape[:-1], key.shape[-2])
    weights = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    weights = torch.nan_to_num(torch.softmax(weights, dim=-1), nan=0.0)
    output = torch.bmm(weights.reshape(-1, *weights.shape[-2:]), flat[2])
    return output.view(*query.shape[:-1], value.shape[-1]), weights


@masked_attention.also_right
def exponentials_by_hand(query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(dim=-1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    exponentials = exponentials if mask is None else exponentials * mask
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1)
    return weights @ value, weights
