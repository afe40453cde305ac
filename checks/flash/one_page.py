"""Lesson 11 on one page: parts, their merging, and attention block by block, forwards and backwards."""

import math

import torch
from einops import einsum


def part(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., T_q, T_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    maximum = scores.amax(dim=-1)  # (..., T_q)
    shift = maximum.masked_fill(maximum == -math.inf, 0.0)  # -inf - -inf would be NaN
    exponentials = torch.exp(scores - shift[..., None])  # (..., T_q, T_k)
    total = exponentials.sum(dim=-1)  # (..., T_q)
    output = exponentials @ value / total.clamp(min=1.0)[..., None]  # (..., T_q, d_v)
    return output, maximum, total


def merge(one, other):
    maximum = torch.maximum(one[1], other[1])  # (..., T_q)
    shift = maximum.masked_fill(maximum == -math.inf, 0.0)
    first, second = (each[2] * torch.exp(each[1] - shift) for each in (one, other))  # (..., T_q)
    total = first + second
    sums = one[0] * first[..., None] + other[0] * second[..., None]  # (..., T_q, d_v)
    return sums / total.clamp(min=1.0)[..., None], maximum, total


def block_mask(first, end, first_key, end_key):
    return torch.arange(first, end)[:, None] >= torch.arange(first_key, end_key)  # of the diagonal alone


def flash_attention(query, key, value, block_size, causal=False):
    outputs, logarithms = [], []
    for first in range(0, query.shape[-2], block_size):
        end = min(first + block_size, query.shape[-2])
        last = end if causal else key.shape[-2]  # behind it, all is hidden
        so_far = None
        for first_key in range(0, last, block_size):
            end_key = min(first_key + block_size, last)
            new = part(
                query[..., first:end, :],
                key[..., first_key:end_key, :],
                value[..., first_key:end_key, :],
                block_mask(first, end, first_key, end_key) if causal and first_key == first else None,
            )
            so_far = new if so_far is None else merge(so_far, new)
        outputs.append(so_far[0])  # (..., block, d_v)
        logarithms.append(so_far[1] + torch.log(so_far[2]))  # (..., block)
    return torch.cat(outputs, dim=-2), torch.cat(logarithms, dim=-1)  # (..., T_q, d_v), (..., T_q)


def flash_backward(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    grad_query, grad_key, grad_value = (torch.zeros_like(each) for each in (query, key, value))
    scale = 1 / math.sqrt(query.shape[-1])
    rows = (grad_output * output).sum(dim=-1, keepdim=True)  # (..., T_q, 1)
    for first in range(0, query.shape[-2], block_size):
        queries = slice(first, min(first + block_size, query.shape[-2]))
        last = queries.stop if causal else key.shape[-2]
        for first_key in range(0, last, block_size):
            keys = slice(first_key, min(first_key + block_size, last))
            scores = query[..., queries, :] @ key[..., keys, :].mT * scale  # (..., block, block)
            if causal and first_key == first:
                seen = block_mask(first, queries.stop, first_key, keys.stop)
                scores = scores.masked_fill(~seen, -math.inf)
            weights = torch.exp(scores - logsumexp[..., queries, None])  # (..., block, block): computed again
            grad_weights = grad_output[..., queries, :] @ value[..., keys, :].mT  # (..., block, block)
            grad_scores = weights * (grad_weights - rows[..., queries, :]) * scale  # (..., block, block)
            grad_query[..., queries, :] += grad_scores @ key[..., keys, :]  # (..., block, d_k)
            grad_key[..., keys, :] += grad_scores.mT @ query[..., queries, :]  # (..., block, d_k)
            grad_value[..., keys, :] += weights.mT @ grad_output[..., queries, :]  # (..., block, d_v)
    return grad_query, grad_key, grad_value


# The same with named axes (einops): q queries, k keys, d numbers of a key, v numbers of a value.


def part_named(query, key, value):
    scores = einsum(query, key, "... q d, ... k d -> ... q k") / math.sqrt(query.shape[-1])
    maximum = scores.amax(dim=-1)
    exponentials = torch.exp(scores - maximum[..., None])
    total = exponentials.sum(dim=-1)
    sums = einsum(exponentials, value, "... q k, ... k v -> ... q v")
    return sums / total[..., None], maximum, total


def gradients_named(weights, grad_scores, query, key, grad_output):
    grad_query = einsum(grad_scores, key, "... q k, ... k d -> ... q d")
    grad_key = einsum(grad_scores, query, "... q k, ... q d -> ... k d")
    grad_value = einsum(weights, grad_output, "... q k, ... q v -> ... k v")
    return grad_query, grad_key, grad_value
