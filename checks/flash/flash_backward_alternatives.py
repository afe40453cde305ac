"""Other right ways to write `flash_backward`."""

import math

import torch

from .blocks import hidden, scores_of
from .flash_backward import backward, flash_backward


@flash_backward.accepted_alternative(
    "All keys at once for a block of queries: one loop. Memory grows with the text, as a row of blocks."
)
def a_row_of_blocks(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    scale, of_queries = 1 / math.sqrt(query.shape[-1]), []
    of_key, of_value = torch.zeros_like(key), torch.zeros_like(value)
    for first in range(0, query.shape[-2], block_size):
        some = slice(first, first + block_size)
        scores = query[..., some, :] @ key.mT * scale
        if causal:
            scores = scores.masked_fill(hidden(first, scores.shape[-2], 0, scores.shape[-1]), -math.inf)
        weights = torch.exp(scores - logsumexp[..., some, None])
        of_weights = grad_output[..., some, :] @ value.mT
        rows = (grad_output[..., some, :] * output[..., some, :]).sum(dim=-1, keepdim=True)
        of_scores = weights * (of_weights - rows) * scale
        of_queries.append(of_scores @ key)
        of_key += of_scores.mT @ query[..., some, :]
        of_value += weights.mT @ grad_output[..., some, :]
    return torch.cat(of_queries, dim=-2), of_key, of_value


@flash_backward.accepted_alternative(
    "Keys outside, queries inside, as FlashAttention's own kernels have it: the gradients of a block of "
    "keys and values are done when its loop ends."
)
def keys_outside(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    of_query, of_keys, of_values = torch.zeros_like(query), [], []
    rows = torch.einsum("...qv,...qv->...q", output, grad_output)
    blocks = [slice(first, first + block_size) for first in range(0, query.shape[-2], block_size)]
    for first_key in range(0, key.shape[-2], block_size):
        some_keys = key[..., first_key : first_key + block_size, :] * query.shape[-1] ** -0.5
        some_values = value[..., first_key : first_key + block_size, :]
        of_key, of_value = torch.zeros_like(some_keys), torch.zeros_like(some_values)
        for some in blocks:
            scores = query[..., some, :] @ some_keys.mT
            weights = (scores - logsumexp[..., some, None]).exp()
            if causal:
                over = hidden(some.start, scores.shape[-2], first_key, scores.shape[-1])
                weights = torch.where(over, 0.0, weights.masked_fill(over, 0.0))
            of_scores = (grad_output[..., some, :] @ some_values.mT - rows[..., some, None]) * weights
            of_query[..., some, :] += of_scores @ some_keys
            of_key = of_key + of_scores.mT @ query[..., some, :]
            of_value = of_value + weights.mT @ grad_output[..., some, :]
        of_keys.append(of_key * query.shape[-1] ** -0.5)
        of_values.append(of_value)
    return of_query, torch.cat(of_keys, dim=-2), torch.cat(of_values, dim=-2)


@flash_backward.accepted_alternative
def without_the_output(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def from_weights(output, grad_output):
        rows = []
        for first in range(0, query.shape[-2], block_size):
            some = slice(first, first + block_size)
            scores = scores_of(query[..., some, :], key)
            if causal:
                scores = scores.masked_fill(hidden(first, scores.shape[-2], 0, key.shape[-2]), -math.inf)
            weights = (scores - logsumexp[..., some, None]).exp()
            rows.append((weights * (grad_output[..., some, :] @ value.mT)).sum(dim=-1, keepdim=True))
        return torch.cat(rows, dim=-2)

    return backward(
        query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=from_weights
    )


@flash_backward.accepted_alternative
def text_by_text(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    if query.dim() == 2:
        return [*backward(query, key, value, output, logsumexp, grad_output, block_size, causal)]
    told = (query, key, value, output, logsumexp, grad_output)
    every = [text_by_text(*text, block_size, causal) for text in zip(*told, strict=True)]
    return [torch.stack(each) for each in zip(*every, strict=True)]


@flash_backward.accepted_alternative
def recomputing_the_logarithm(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    own = []
    for first in range(0, query.shape[-2], block_size):
        scores = scores_of(query[..., first : first + block_size, :], key)
        if causal:
            scores = scores.masked_fill(hidden(first, scores.shape[-2], 0, key.shape[-2]), -math.inf)
        own.append(scores.logsumexp(dim=-1))
    return backward(query, key, value, output, torch.cat(own, -1), grad_output, block_size, causal)
