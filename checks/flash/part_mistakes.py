"""What people get wrong about a `part`: the scores, the maximum and the total."""

import math

import torch

from .part import finish, part, scaled_scores, shares


@part.mistake(
    "The scores are not scaled: a part is made of query · key / √d_k, and its maximum is the largest of "
    "these."
)
def not_scaled(query, key, value, mask=None):
    return _part(query * math.sqrt(query.shape[-1]), key, value, mask)


@part.mistake("The scores are divided by d_k. It is its square root: √d_k.")
def scaled_without_the_root(query, key, value, mask=None):
    return _part(query / math.sqrt(query.shape[-1]), key, value, mask)


@part.mistake(
    "The scores are scaled by the width of the *values*. It is d_k, the width of query and key, that makes "
    "scores large: `query.shape[-1]`."
)
def scaled_by_the_values(query, key, value, mask=None):
    return _part(query * math.sqrt(query.shape[-1] / value.shape[-1]), key, value, mask)


@part.mistake(
    "`output` is the weighted *sum* of the values, not the weighted mean. Divide it by the total, row by row."
)
def a_sum_for_the_mean(query, key, value, mask=None):
    output, maximum, total = _part(query, key, value, mask)
    return output * total[..., None], maximum, total


@part.mistake(
    "`total` is 1 everywhere: it was summed after the softmax. It is the sum of exp(score − maximum), "
    "which the softmax divides by and `merge` weighs parts by."
)
def total_of_the_weights(query, key, value, mask=None):
    output, maximum, total = _part(query, key, value, mask)
    return output, maximum, (total > 0).to(total.dtype)


@part.mistake(
    "`total` is the sum of exp(score), without subtracting the maximum. It belongs to the maximum that is"
    " returned beside it, and it overflows for large scores: sum exp(score − maximum)."
)
def total_without_the_maximum(query, key, value, mask=None):
    output, maximum, _ = _part(query, key, value, mask)
    return output, maximum, scaled_scores(query, key, mask).exp().sum(dim=-1)


@part.mistake(
    "`total` is the logarithm of the sum. Return the sum itself; only `flash_attention` returns a logarithm."
)
def logarithm_for_the_total(query, key, value, mask=None):
    output, maximum, total = _part(query, key, value, mask)
    return output, maximum, total.log()


@part.mistake(
    "`maximum` is the log of the sum of all exp(score). It should be the largest score; with your maximum"
    " the total would be 1."
)
def logsumexp_for_the_maximum(query, key, value, mask=None):
    output, maximum, total = _part(query, key, value, mask)
    return output, maximum + total.log(), total


@part.mistake(
    "`maximum` is that of the scores before they are scaled. All three results are made of the scaled scores."
)
def maximum_before_scaling(query, key, value, mask=None):
    output, maximum, total = _part(query, key, value, mask)
    return output, maximum * math.sqrt(query.shape[-1]), total


@part.mistake(
    "One maximum was subtracted for all queries. Each query has its own: the largest score over the keys,"
    " the last axis."
)
def one_maximum_for_all(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.max().expand(scores.shape[:-1]).clone()
    return finish(shares(scores, maximum), value, maximum)


@part.mistake(
    "Maximum and total run over the queries, with one number for each key. They belong to a query: over the "
    "keys, the last axis."
)
def over_the_queries(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-2)
    exponentials = (scores - maximum[..., None, :]).exp()
    total = exponentials.sum(dim=-2)
    return exponentials / total[..., None, :] @ value, maximum, total


@part.mistake(
    "`maximum` and `total` have an axis of size 1 too many: they are (..., T_q). Keep it for your own "
    "broadcasting, and drop it at the end: `[..., 0]` or `squeeze(-1)`."
)
def an_axis_too_many(query, key, value, mask=None):
    output, maximum, total = _part(query, key, value, mask)
    return output, maximum[..., None], total[..., None]


@part.mistake("The three results are in the wrong order: return output, maximum, total.")
def another_order(query, key, value, mask=None):
    output, maximum, total = _part(query, key, value, mask)
    return output, total, maximum


@part.mistake("The exponentials are of base 2, as in some kernels, but the total has base e: `torch.exp`.")
def base_two(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-1)
    lowest = maximum.masked_fill(maximum == -math.inf, 0.0)[..., None]
    return finish(torch.exp2(scores - lowest), value, maximum)


@part.mistake(
    "The numbers are right in float32, but float64 comes back as float32: something casts on the way. The "
    "results have the dtype of the arguments."
)
def always_float32(query, key, value, mask=None):
    return _part(query.float(), key.float(), value.float(), mask)


@part.mistake(
    "The numbers are right, but no gradient reaches `query` and `key`: the scores left the graph through "
    "`.data`, `.detach()` or `no_grad`. Compute with the tensors themselves."
)
def detached(query, key, value, mask=None):
    return _part(query.detach(), key.detach(), value, mask)


def _part(query, key, value, mask):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-1)
    return finish(shares(scores, maximum), value, maximum)
