"""Correct attention block by block: mistakes and accepted alternatives change one step of it."""

import math

import torch


def scores_of(query, key, scale=None):
    return query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)


def ahead(first_query, queries, first_key, keys):
    """Return how many places a key of the block is behind the query, in the text: (queries, keys)."""
    return first_key + torch.arange(keys) - first_query - torch.arange(queries)[:, None]


def hidden(*block):
    return ahead(*block) > 0


def last_seen(first_query, queries):
    """Return how many keys a block of queries sees at most."""
    return first_query + queries


def start_of(query, value):
    """Sums, maximum and total before any key was seen."""
    nothing = query.new_zeros(query.shape[:-1])
    return torch.zeros_like(query[..., :1]) * value[..., :1, :], nothing - math.inf, nothing


def add(state, scores, value):
    """Sums, maximum and total with one block of keys more."""
    sums, maximum, total = state
    new = torch.maximum(maximum, scores.amax(dim=-1))
    shift = new.masked_fill(new == -math.inf, 0.0)
    old = (maximum - shift).exp()
    exponentials = (scores - shift[..., None]).exp()
    return sums * old[..., None] + exponentials @ value, new, total * old + exponentials.sum(dim=-1)


def finish(state):
    sums, maximum, total = state
    return sums / total[..., None], maximum + total.log()


def in_blocks(
    query,
    key,
    value,
    block_size,
    causal=False,
    *,
    score=scores_of,
    hides=hidden,
    seen=last_seen,
    length_of=lambda length, block_size: length,
    starts=start_of,
    adds=add,
    ends=finish,
):
    """Output and logsumexp.

    hides: which scores of a block are hidden; seen: how many keys the loop goes through, None for all.
    length_of: how many of the keys are attended to; starts: sums, maximum and total before any key.
    """
    length, outputs, logarithms = length_of(key.shape[-2], block_size), [], []
    for first_query in range(0, query.shape[-2], block_size):
        block = query[..., first_query : first_query + block_size, :]
        state, queries = starts(block, value), block.shape[-2]
        limit = length if seen is None or not causal else min(length, seen(first_query, queries))
        for first in range(0, limit, block_size):
            end = min(first + block_size, limit)
            scores = score(block, key[..., first:end, :])
            if causal:
                scores = scores.masked_fill(hides(first_query, queries, first, end - first), -math.inf)
            state = adds(state, scores, value[..., first:end, :])
        output, logsumexp = ends(state)
        outputs.append(output)
        logarithms.append(logsumexp)
    return torch.cat(outputs, dim=-2), torch.cat(logarithms, dim=-1)


def plainly(query, key, value, causal=False):
    """Output and logsumexp by the whole matrix."""
    scores = scores_of(query, key)
    if causal:
        scores = scores.masked_fill(hidden(0, query.shape[-2], 0, key.shape[-2]), -math.inf)
    return scores.softmax(dim=-1) @ value, scores.logsumexp(dim=-1)
