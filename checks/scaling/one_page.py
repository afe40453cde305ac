"""Lesson 2 on one page: scaled dot-product attention, and what its softmax still learns."""

import math

import torch


def score_variance(d_k, samples=10_000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    query, key = (torch.randn(samples, d_k, generator=generator) for _ in range(2))  # (samples, d_k) each
    return (query * key).sum(dim=-1).var().item()  # (samples,) scores -> about d_k


def scaled_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., T_q, T_k), spread about 1


def scaled_dot_product_attention(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query has width {query.shape[-1]}, key has width {key.shape[-1]}")
    weights = torch.softmax(scaled_scores(query, key), dim=-1)  # (..., T_q, T_k)
    return weights @ value, weights  # (..., T_q, d_v), (..., T_q, T_k)


def sharpen(scores, factor):
    return torch.softmax(factor * scores, dim=-1)  # (..., T); the factor is one over the temperature


def softmax_jacobian(weights):
    outer = weights.unsqueeze(-1) * weights.unsqueeze(-2)  # (..., T, 1) * (..., 1, T) -> (..., T, T)
    return torch.diag_embed(weights) - outer  # (..., T, T): all 0 where one weight is 1
