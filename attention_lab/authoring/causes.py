"""Wrong steps of attention layers: a measurement says that an answer's result is what one of them gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

Steps = Mapping[str, Callable[..., Any]]  # methods by name


def _masked(weights_of: Callable[..., Any], fill: float = -torch.inf) -> Callable[..., Any]:
    def weights(query: Any, key: Any, value: Any, mask: Any) -> Any:
        scores = query @ key.mT / query.shape[-1] ** 0.5
        if mask is None:
            return weights_of(scores)
        return weights_of(scores.masked_fill(~mask, fill)).masked_fill(~mask, 0.0)

    return weights


def _similar(similarity: Callable[..., Any]) -> Callable[..., Any]:
    def weights(query: Any, key: Any, value: Any, mask: Any) -> Any:
        scores = similarity(query, key)
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)

    return weights


def _causal(query: Any, key: Any) -> Any:
    return torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()


RIGHT_WEIGHTS = _masked(lambda scores: scores.softmax(-1))
# Weights that are made otherwise from query, key, value (B, H, T, D) and a mask that is None or broadcasts.
WEIGHTS: dict[str, Callable[..., Any]] = {
    "all visible keys had the same weight": _masked(
        lambda scores: torch.where(scores.isfinite(), 0.0, scores).softmax(-1)
    ),
    "the softmax were applied twice": _masked(lambda scores: scores.softmax(-1).softmax(-1)),
    "the softmax ran over the queries": _masked(lambda scores: scores.softmax(-2)),
    "scores divided by their sum were the weights": _masked(lambda scores: scores / scores.sum(-1, True)),
    "a sigmoid were in the place of the softmax": _masked(torch.sigmoid),
    "sigmoids were divided by their sum": _masked(lambda s: s.sigmoid() / s.sigmoid().sum(-1, True)),
    "the logarithms of the weights were the weights": _masked(lambda scores: scores.log_softmax(-1)),
    "the exponentials were not divided by their sum": _masked(torch.exp),
    "the exponentials were divided by the sum of them all": _masked(lambda s: s.exp() / s.exp().sum()),
    "the scores were the weights, without a softmax": _masked(lambda scores: scores.nan_to_num(neginf=0.0)),
    "the scores were kept between -1 and 1": _masked(lambda scores: scores.clamp(-1, 1).softmax(-1)),
    "hidden scores were 0, and not minus infinity": _masked(lambda scores: scores.softmax(-1), 0.0),
    **{
        f"hidden scores were {fill}, and not minus infinity": _masked(lambda scores: scores.softmax(-1), fill)
        for fill in (-1, -5, -10)
    },
    "the scores were cosines, divided by √D": _similar(
        lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT / q.shape[-1] ** 0.5
    ),
    "the scores were cosines": _similar(lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT),
    "the keys had length 1 before the scores": _similar(
        lambda q, k: q @ F.normalize(k, dim=-1).mT / q.shape[-1] ** 0.5
    ),
    "the queries had length 1 before the scores": _similar(
        lambda q, k: F.normalize(q, dim=-1) @ k.mT / q.shape[-1] ** 0.5
    ),
    "the scores were multiplied by √D": _similar(lambda q, k: q @ k.mT * q.shape[-1] ** 0.5),
    "the scores were doubled": _similar(lambda q, k: 2 * q @ k.mT / q.shape[-1] ** 0.5),
    "the scores were divided by the root of the number of keys": _similar(
        lambda q, k: q @ k.mT / k.shape[-2] ** 0.5
    ),
    "the mask were added to the scores, as 0 and 1": lambda query, key, value, mask: (
        RIGHT_WEIGHTS(query, key, value, None)
        if mask is None
        else (query @ key.mT / query.shape[-1] ** 0.5 + mask.to(query)).softmax(-1)
    ),
    "the keys were reshaped to (D, T), and not transposed": _similar(
        lambda q, k: q @ k.reshape(*k.mT.shape) / q.shape[-1] ** 0.5
    ),
    "negative numbers of the queries were 0": _similar(lambda q, k: q.relu() @ k.mT / q.shape[-1] ** 0.5),
    "the scores had lost their sign": _similar(lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).abs()),
    "negative scores were 0": _similar(lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).relu()),
    "the scores were divided by √(D - 1)": _similar(lambda q, k: q @ k.mT / (q.shape[-1] - 1) ** 0.5),
    "the largest score had all the weight": _masked(
        lambda scores: F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)
    ),
    "1e-3 were added to the sum of a row": _masked(
        lambda s: (s - s.amax(-1, True)).exp() / ((s - s.amax(-1, True)).exp().sum(-1, True) + 1e-3)
    ),
    "the keys behind a query's own place were hidden as well": lambda query, key, value, mask: RIGHT_WEIGHTS(
        query, key, value, _causal(query, key) if mask is None else mask & _causal(query, key)
    ),
    "the scores were negative distances": _similar(lambda query, key: -torch.cdist(query, key)),
}
# How the output is made from weights, query, key and value.
OUTPUTS: dict[str, Callable[..., Any]] = {
    "the weights were multiplied with the keys": lambda weights, query, key, value: weights @ key,
    "the weights were multiplied with the queries": lambda weights, query, key, value: weights @ query,
    "the values were the output, without weights": lambda weights, query, key, value: value + 0,
    "the values were multiplied with the squares of the weights": lambda weights, query, key, value: (
        weights.square() @ value
    ),
    "the weights were transposed before the values": lambda weights, query, key, value: weights.mT @ value,
    "the queries were added to the output": lambda weights, query, key, value: weights @ value + query,
    "the weights were divided by √D, after the softmax": lambda weights, query, key, value: (
        weights @ value / query.shape[-1] ** 0.5
    ),
}


def attending(weights: Callable[..., Any], output: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Attention of wrong weights, or of a wrong output: (output, weights)."""

    def attend(query: Any, key: Any, value: Any, mask: Any) -> tuple[Any, Any]:
        numbers = weights(query, key, value, mask)
        return (numbers @ value if output is None else output(numbers, query, key, value)), numbers

    return attend


ATTENTION_CAUSES = {clause: attending(weights) for clause, weights in WEIGHTS.items()} | {
    clause: attending(RIGHT_WEIGHTS, output) for clause, output in OUTPUTS.items()
}
