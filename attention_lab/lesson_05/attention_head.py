"""One attention head, given to lesson 5: lesson 4's, with the option of a bias in its projections."""

import math

import torch
import torch.nn as nn


class AttentionHead(nn.Module):
    """Scaled, masked attention between learned projections; self- and cross-attention in one class.

    query: (B, T_q, E)      key: (B, T_k, E), or None: query      value: (B, T_k, E), or None: key
    mask: bool, broadcasts to (B, T_q, T_k), True = may attend; None: everywhere
    returns: output (B, T_q, D), weights (B, T_q, T_k), where D is `head_size`
    """

    def __init__(self, embed_dim, head_size, bias=False):
        super().__init__()
        self.query = nn.Linear(embed_dim, head_size, bias=bias)
        self.key = nn.Linear(embed_dim, head_size, bias=bias)
        self.value = nn.Linear(embed_dim, head_size, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = self.query(query), self.key(key), self.value(value)  # (B, T, D) each
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, T_q, T_k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            # A row of nothing but -inf is NaN after the softmax: there is nothing to attend to.
            weights = weights.masked_fill(~mask, 0.0)
        return weights @ value, weights
