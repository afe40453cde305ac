"""A small batch as tables of numbers, and what is added up along one of its axes."""

from __future__ import annotations

from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attention_lab.plots import ACCENT, INK, PALE, STYLE

_GAP = 1.6  # cells between two tables


@matplotlib.rc_context(STYLE)
def batch_picture(
    x: torch.Tensor, *, along: int | None = None, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw `x` (B, T, E) as B tables side by side, T rows and E columns each, with its numbers.

    `along` is an axis: dark are the numbers of one sum along it, the one that x[0, 0, 0] is part of.
    Raises ValueError where `x` has not three axes.
    """
    if x.ndim != 3:
        raise ValueError(f"batch_picture draws a batch of shape (B, T, E), not {tuple(x.shape)}.")
    batch, rows, columns = x.shape
    wide = batch * (columns + _GAP)
    if ax is None:
        ax = plt.subplots(figsize=(0.5 * wide + 0.6, 0.5 * rows + 1.2), layout="constrained")[1]
    for table in range(batch):
        left = table * (columns + _GAP)
        ax.text(left + columns / 2, -0.35, f"x[{table}]", ha="center", family="monospace", color=INK)
        for row in range(rows):
            for column in range(columns):
                summed = _is_summed((table, row, column), along)
                _draw_number(ax, left + column, row, x[table, row, column].item(), summed)
    ax.text(columns / 2, rows + 0.65, "E numbers each", ha="center", color=INK)
    ax.text(-0.35, rows / 2, "T tokens", ha="right", va="center", rotation=90, color=INK)
    ax.set(xlim=(-0.9, wide - _GAP + 0.1), ylim=(rows + 0.9, -0.9), aspect="equal")
    ax.set_axis_off()
    ax.set_title(title or "")
    return ax


def _is_summed(place: tuple[int, int, int], along: int | None) -> bool:
    """Return whether a place differs from the first one along that axis only."""
    return along is not None and all(index == 0 for axis, index in enumerate(place) if axis != along % 3)


def _draw_number(ax: Axes, left: float, top: float, number: float, dark: bool) -> None:
    ax.add_patch(Rectangle((left, top), 1, 1, facecolor=ACCENT if dark else PALE, edgecolor="white"))
    look: dict[str, Any] = (
        {"color": "white", "weight": "bold"} if dark else {"color": INK, "weight": "normal"}
    )
    ax.text(left + 0.5, top + 0.5, f"{number:g}", ha="center", va="center", **look)
