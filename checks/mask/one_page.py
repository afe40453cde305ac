"""Lesson 3 on one page: attention that looks only where it may."""

import math

import torch


def causal_mask(seq_len):
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()  # (T, T): row i sees columns 0 to i


def padding_mask(token_ids, pad_id=0):
    return (token_ids != pad_id).unsqueeze(1)  # (B, T) -> (B, 1, T): the same for every query


def masked_softmax(scores, mask):
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)  # (..., T_q, T_k)
    return weights.masked_fill(~mask, 0.0)  # a row with nothing to attend to was NaN


def masked_attention(query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., T_q, T_k)
    weights = torch.softmax(scores, dim=-1) if mask is None else masked_softmax(scores, mask)
    return weights @ value, weights  # (..., T_q, d_v), (..., T_q, T_k)
