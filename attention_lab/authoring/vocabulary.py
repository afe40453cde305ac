"""What the checks of several lessons repeat: both dtypes, the defaults, attention with one thing changed."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from attention_lab.authoring.draw import Draw

FLOATS = (torch.float32, torch.float64)
LARGEST_SCORE = 1e4  # that the contract allows


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
    scale: float | Callable[..., float] | None = None,
    fill: float = -math.inf,
    axis: int = -1,
    softmax: Callable[..., torch.Tensor] | None = None,
    mix: Callable[..., torch.Tensor] = torch.matmul,
    clear: bool = True,
    add: bool = False,
    fill_visible: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scaled dot-product attention, computed correctly: a mistake changes one thing about it.

    query (..., T_q, d_k), key (..., T_k, d_k), value (..., T_k, d_v), mask (..., T_q, T_k), True where a
    query may attend; output (..., T_q, d_v) and weights (..., T_q, T_k).

    scale: what the scores are multiplied by, 1/√d_k by default, or a function of query, key, value.
    fill: what hidden scores become; `add` adds it to them instead, `fill_visible` gives it to the others.
    axis: over which the softmax normalises; `softmax` is another function in its place.
    mix: the output, from weights and value.
    clear: whether hidden weights are set to 0 afterwards, which gives rows of zeros for empty ones.

    Source: Vaswani et al. 2017, equation 1.
    """
    key, value = defaults(query, key, value)
    factor = (
        scale(query, key, value) if callable(scale) else query.shape[-1] ** -0.5 if scale is None else scale
    )
    scores = query @ key.transpose(-2, -1) * factor
    if mask is not None:
        where = mask if fill_visible else ~mask
        filled = torch.zeros_like(scores).masked_fill(where, fill)
        scores = scores + filled if add else scores.masked_fill(where, fill)
    weights = torch.softmax(scores, dim=axis) if softmax is None else softmax(scores)
    if mask is not None and clear:
        weights = weights.masked_fill(~mask, 0.0)
    return mix(weights, value), weights


def hidden_above(draw: Draw, *shape: int, queries: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query, key and mask of a layer with `for_large_scores`: what is hidden has the largest scores.

    Each row shows one key, whose score is the row's smallest, down to -1e4, and which has all weight.

    shape: of the key, (B, T_k, E). The query is (B, queries, E), the mask (queries, T_k).
    """
    batch, keys, width = shape
    query, key = draw.normal(batch, queries, width), draw.normal(batch, keys, width)
    # Far apart, so that nothing hangs on rounding where the mask, or the key, is left out.
    query[..., 0] = draw.in_steps(torch.linspace(0.5, 1, queries))
    key[..., 0] = draw.in_steps(torch.linspace(-1, 1, keys))[draw.permutation(keys)]
    visible = key[0, :, 0] == -1
    return query, key, visible.expand(queries, keys).clone()


def for_large_scores(
    state: dict[str, torch.Tensor], head_size: int, query: str = "query.weight", key: str = "key.weight"
) -> None:
    """Change a layer's weights: of each head, the scores become 1e4 times the first numbers of query and key.

    These are from -1 to 1. Give each key a different first number, so that one wins: where two tie, rounding
    alone shares the weight out, and right answers differ. `hidden_above` makes such inputs.

    state: the weights by name; `query` and `key` are the names of the projections' (H·D, E). Of each head
    the first row becomes a multiple of the input's first number, the other rows stay.
    """
    for name in (query, key):
        state[name][::head_size] = 0.0
        state[name][::head_size, 0] = math.sqrt(LARGEST_SCORE * math.sqrt(head_size))
