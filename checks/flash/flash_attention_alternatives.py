"""Other right ways to write `flash_attention`."""

import math

import torch

from .blocks import finish, hidden, in_blocks, scores_of, start_of
from .flash_attention import flash_attention


@flash_attention.accepted_alternative(
    "All keys at once for a block of queries: no merging at all, and short. Memory grows with the text, as "
    "a row of blocks."
)
def a_row_of_blocks(query, key, value, block_size, causal=False):
    outputs, logarithms = [], []
    for first in range(0, query.shape[-2], block_size):
        block = query[..., first : first + block_size, :]
        seen = first + block.shape[-2] if causal else key.shape[-2]
        scores = scores_of(block, key[..., :seen, :])
        if causal:
            scores = scores.masked_fill(hidden(first, block.shape[-2], 0, seen), -math.inf)
        logarithms.append(scores.logsumexp(dim=-1))
        outputs.append((scores - logarithms[-1][..., None]).exp() @ value[..., :seen, :])
    return torch.cat(outputs, dim=-2), torch.cat(logarithms, dim=-1)


@flash_attention.accepted_alternative(
    "Keys outside, queries inside: each block of keys is fetched once, and the sums of all queries are "
    "kept. Ring attention does this between machines."
)
def keys_outside(query, key, value, block_size, causal=False):
    queries = range(0, query.shape[-2], block_size)
    states = [start_of(query[..., first : first + block_size, :], value) for first in queries]
    for first_key in range(0, key.shape[-2], block_size):
        some_keys = key[..., first_key : first_key + block_size, :]
        for index, first in enumerate(queries):
            if causal and first_key > min(first + block_size, query.shape[-2]) - 1:
                continue
            block = query[..., first : first + block_size, :]
            scores = scores_of(block, some_keys)
            if causal:
                over = hidden(first, block.shape[-2], first_key, scores.shape[-1])
                scores = torch.where(over, -math.inf, scores)
            states[index] = _added(states[index], scores, value[..., first_key : first_key + block_size, :])
    results = [finish(state) for state in states]
    return torch.cat([each for each, _ in results], dim=-2), torch.cat([each for _, each in results], dim=-1)


def _added(state, scores, value):
    """With a mean in the place of the sums: two parts that are merged."""
    sums, maximum, total = state
    largest = torch.maximum(maximum, scores.max(dim=-1).values)
    shift = torch.where(largest.isinf(), 0.0, largest)
    weights = torch.exp(scores - shift[..., None])
    old = torch.exp(maximum - shift)
    return old[..., None] * sums + weights @ value, largest, old * total + weights.sum(dim=-1)


@flash_attention.accepted_alternative
def backwards_through_the_keys(query, key, value, block_size, causal=False):
    outputs, logarithms = [], []
    for block, first in zip(
        query.split(block_size, dim=-2), range(0, query.shape[-2], block_size), strict=True
    ):
        last = min(first + block_size, key.shape[-2]) if causal else key.shape[-2]
        state = start_of(block, value)
        for first_key in reversed(range(0, last, block_size)):
            end = min(first_key + block_size, last)
            scores = torch.einsum("...qd,...kd->...qk", block, key[..., first_key:end, :]) / math.sqrt(
                key.shape[-1]
            )
            if causal:
                scores = scores.masked_fill(
                    hidden(first, block.shape[-2], first_key, end - first_key), -math.inf
                )
            state = _added(state, scores, value[..., first_key:end, :])
        output, logarithm = finish(state)
        outputs.append(output)
        logarithms.append(logarithm)
    return [torch.cat(outputs, -2), torch.cat(logarithms, -1)]


@flash_attention.accepted_alternative
def by_logarithms(query, key, value, block_size, causal=False):
    def add(state, scores, some):
        mean, logarithm, _ = state
        own = scores.logsumexp(dim=-1)
        both = torch.logaddexp(logarithm, own)
        known = both.masked_fill(both == -math.inf, 0.0)
        old = (logarithm - known).exp()[..., None]
        return mean * old + (scores - known[..., None]).exp() @ some, both, both

    return in_blocks(query, key, value, block_size, causal, adds=add, ends=lambda state: state[:2])


@flash_attention.accepted_alternative
def text_by_text(query, key, value, block_size, causal=False):
    if query.dim() == 2:
        return in_blocks(query, key, value, block_size, causal)
    pairs = [
        text_by_text(*text, block_size, causal)
        for text in zip(query.unbind(0), key.unbind(0), value.unbind(0), strict=True)
    ]
    return torch.stack([each for each, _ in pairs]), torch.stack([each for _, each in pairs])
