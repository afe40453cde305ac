"""Functions that an answer may apply once too often, or leave out: of each number, or of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _shares(x: Any) -> Any:
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _centred(x: Any) -> Any:
    return x - x.mean(-1, keepdims=True)


def _erf(x: Any) -> Any:
    """The error function, to about 1e-7 (Abramowitz and Stegun, 7.1.26)."""
    t = 1 / (1 + 0.3275911 * abs(x))
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0)
    return np.sign(x) * (1 - np.polyval(terms, t) * np.exp(-np.square(x)))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "ReLU": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "the sigmoid": _sigmoid,
    "GELU": lambda x: x * (1 + _erf(x / 2**0.5)) / 2,
    "SiLU": lambda x: x * _sigmoid(x),
    "leaky ReLU": lambda x: np.where(x < 0, 0.01 * x, x),
    "ELU": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "the absolute value": np.abs,
    "the square": np.square,
    "the cube": lambda x: x**3,
    "the root": np.sqrt,
    "the exponential": np.exp,
    "the logarithm": np.log,
    "the reciprocal": lambda x: 1 / x,
    "the sine": np.sin,
    "the cosine": np.cos,
    "the exponentials of each row, divided by their sum": _shares,
    "the logarithm of the exponentials of each row, divided by their sum": lambda x: np.log(_shares(x)),
}
# Not looked for as left out: many arrays become the same by them.
LOSSY: dict[str, Callable[[Any], Any]] = {
    "a cut at ±1": lambda x: np.clip(x, -1, 1),
    "the layer norm of each row": lambda x: _centred(x) / x.std(-1, keepdims=True),
    "the row without its mean": _centred,
    "the row divided by its L2 norm": lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True),
    "the row divided by its root mean square": lambda x: x / np.sqrt(np.square(x).mean(-1, keepdims=True)),
    "the row divided by its sum": lambda x: x / x.sum(-1, keepdims=True),
    "the row divided by its largest number": lambda x: x / abs(x).max(-1, keepdims=True),
}
FUNCTIONS |= LOSSY
