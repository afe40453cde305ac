"""What the checks of several lessons repeat: both dtypes, the defaults, attention with one thing changed."""

from __future__ import annotations

import math

import torch

FLOATS = (torch.float32, torch.float64)


def defaults(
    query: torch.Tensor, key: torch.Tensor | None, value: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Key and value as the course has it: a missing key is the query, a missing value the key."""
    key = query if key is None else key
    return key, key if value is None else value


def attention(
    query: torch.Tensor,
    key: torch.Tensor | None = None,
    value: torch.Tensor | None = None,
    mask: torch.Tensor | None = None,
    *,
    scale: float | None = None,
    fill: float = -math.inf,
    axis: int = -1,
    clear: bool = True,
    add: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scaled dot-product attention, right as it stands: a mistake changes one thing about it.

    query (..., T_q, d_k), key (..., T_k, d_k), value (..., T_k, d_v), mask (..., T_q, T_k), True where a
    query may attend; output (..., T_q, d_v) and weights (..., T_q, T_k).

    scale: what the scores are multiplied by, 1/√d_k by default.
    fill: what hidden scores become; `add` adds it to them instead.
    axis: over which the softmax normalises.
    clear: whether hidden weights are set to 0 afterwards, which gives rows of zeros for empty ones.

    Source: Vaswani et al. 2017, equation 1.
    """
    key, value = defaults(query, key, value)
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        filled = torch.zeros_like(scores).masked_fill(~mask, fill)
        scores = scores + filled if add else scores.masked_fill(~mask, fill)
    weights = torch.softmax(scores, dim=axis)
    if mask is not None and clear:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
