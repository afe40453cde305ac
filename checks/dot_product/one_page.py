"""Lesson 1 on one page: dot-product attention."""

import torch


def score(query, key):
    return key @ query  # (T, d) @ (d,) -> (T,): one dot product per key


def softmax(scores):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))  # (..., T), at most 1
    return exponentials / exponentials.sum(dim=-1, keepdim=True)  # (..., T), rows sum to 1


def context_vector(weights, value):
    return weights @ value  # (T,) @ (T, d_v) -> (d_v,): each value times its weight


def project(x, w_query, w_key, w_value):
    return x @ w_query, x @ w_key, x @ w_value  # (..., T, E) @ (E, width) -> (..., T, width)


def attention_scores(query, key):
    return query @ key.transpose(-2, -1)  # (..., T_q, d) @ (..., d, T_k) -> (..., T_q, T_k)


def dot_product_attention(query, key=None, value=None):
    key = query if key is None else key  # self-attention
    value = key if value is None else value
    weights = softmax(attention_scores(query, key))  # (..., T_q, T_k)
    return weights @ value, weights  # (..., T_q, d_v), (..., T_q, T_k)
