"""The sliders of attention weights: sharpening, key width, and a walk through a mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import matplotlib
import torch
from matplotlib.artist import Artist
from matplotlib.figure import Figure, SubFigure

from attention_lab import plots
from attention_lab.sliders.explorer import FIGURE, Show, explorer, move_bars, step_buttons

LARGEST_FACTOR = 24.0
LARGEST_WIDTH = 512
_KEYS = 6  # how many keys the width slider draws


def entropy(weights: torch.Tensor) -> float:
    """Return how widely the weights `(T_k,)` spread, in nats: 0 for a single key, log(T_k) when uniform."""
    return float(torch.special.entr(weights.detach().double()).sum()) + 0.0  # never -0


def largest_gradient(weights: torch.Tensor) -> float:
    """The largest entry of the softmax's Jacobian at the weights `(T_k,)`: at most 1/4.

    It is on the diagonal, where an entry is w (1 - w): the other entries are -w v, and v is part of 1 - w.
    """
    exact = weights.detach().double()
    return float((exact * (1 - exact)).max())


def _readings(weights: torch.Tensor) -> list[tuple[float, str]]:
    """Entropy and largest gradient at the weights `(T_k,)`: each as a share of its maximum, and in words."""
    nats, gradient, largest = entropy(weights), largest_gradient(weights), math.log(len(weights))
    share = nats / largest if largest > 0 else 1.0
    digits = f"{gradient:.3f}" if gradient >= 0.001 or gradient == 0 else f"{gradient:.1e}"
    return [
        (share, f"entropy {nats:.3f} nats, {share:.0%} of the maximum"),
        (gradient / 0.25, f"largest gradient {digits}, of at most 0.25"),
    ]


@matplotlib.rc_context(plots.STYLE)
def sharpening_slider(scores: plots.Values, *, labels: Sequence[str] | None = None) -> widgets.VBox:
    """Move a factor from 0.1 to 24, where 1 is the plain softmax, over the scores `(T_k,)` of one query."""
    row = torch.as_tensor(scores).detach().double()
    if row.ndim != 1 or len(row) == 0:
        raise ValueError(f"scores must be those of one query, (T_k,), not {tuple(row.shape)}: try scores[0].")
    names = [f"'{label}'" for label in labels or []] or [f"key {place}" for place in range(len(row))]
    figure = Figure((min(9.0, max(5.0, 1.4 + 0.7 * len(row))), 4.2), **FIGURE)
    panel, moving = _weights_panel(figure, len(row), labels)

    def show(factor: float) -> str:
        weights = torch.softmax(factor * row, dim=-1)
        words = panel(weights, f"softmax({factor:g} · scores)" if factor != 1 else "softmax(scores)")
        return f"Sharpening factor {factor:g}: most to {names[int(weights.argmax())]}, {words}."

    slider = widgets.FloatSlider(1.0, min=0.1, max=LARGEST_FACTOR, step=0.1, description="sharpening factor")
    return explorer(figure, show, moving, slider, exact="type factor")


@matplotlib.rc_context(plots.STYLE)
def width_slider(*, seed: int = 0) -> widgets.VBox:
    """Move d_k from 1 to 512 and compare the softmax of the products with that of the scaled ones."""
    generator = torch.Generator().manual_seed(seed)
    # Drawn once and cut to the first d_k numbers, so that the picture grows out of the one before.
    query = torch.randn(LARGEST_WIDTH, generator=generator, dtype=torch.float64)
    keys = torch.randn(_KEYS, LARGEST_WIDTH, generator=generator, dtype=torch.float64)
    figure = Figure((9.0, 4.4), **FIGURE)
    halves: Any = figure.subfigures(1, 2, wspace=0.06)
    (plain, left), (scaled, right) = (_weights_panel(half, _KEYS, None) for half in halves)

    def show(d_k: int) -> str:
        products = keys[:, :d_k] @ query[:d_k]  # (T_k,)
        sentences = [f"Key width {d_k}."]
        unscaled = (plain, "Unscaled: softmax(q·k)", products)
        divided = (scaled, f"Scaled: softmax(q·k / √{d_k})", products / math.sqrt(d_k))
        for panel, title, scores in (unscaled, divided):
            span = f"scores from {scores.min():.1f} to {scores.max():.1f}"
            words = panel(torch.softmax(scores, dim=-1), f"{title}\n{span}")
            sentences.append(f"{title}, {span}, {words}.")
        return " ".join(sentences)

    slider = widgets.IntSlider(64, min=1, max=LARGEST_WIDTH, description="key width d_k")
    return explorer(figure, show, (*left, *right), slider, exact="type d_k")


@matplotlib.rc_context(plots.STYLE)
def mask_stepper(mask: plots.Values, *, tokens: Sequence[str]) -> widgets.VBox:
    """Walk through the queries of a mask `(T_q, T_k)`, `True` = may attend, by slider or by buttons."""
    grid = torch.as_tensor(mask)
    cell = min(0.56, 4.5 / max(len(tokens), len(grid)))
    figure = Figure((max(2.4, cell * len(tokens)) + 1.2, cell * len(grid) + 1.2), **FIGURE)
    queries = tokens if grid.shape == (len(tokens), len(tokens)) else None
    ax = plots.mask_grid(grid, queries=queries, keys=tokens, ax=figure.subplots())

    def show(row: int) -> str:
        sentence = mask_sentence(grid, row, tokens)
        plots.highlight_row(ax, row, tuple(grid.shape))
        for patch in ax.patches:
            patch.set_animated(True)
        return sentence

    slider = widgets.IntSlider(0, min=0, max=len(mask) - 1, description="query")
    return explorer(figure, show, (), slider, *step_buttons(slider))


def mask_sentence(mask: torch.Tensor, row: int, tokens: Sequence[str]) -> str:
    """Return which keys one query of the mask `(T_q, T_k)` may attend to."""
    rows, columns = mask.shape
    twice = {token for token in tokens if list(tokens).count(token) > 1}
    names = [f"'{token}'" + (f" at {place}" if token in twice else "") for place, token in enumerate(tokens)]
    # A mask of one row broadcasts: it says the same of every query.
    query = names[row] if rows == columns else f"query {row}" if rows > 1 else "every query"
    seen = ", ".join(name for name, may in zip(names, mask[row], strict=True) if may)
    hidden = [name for name, may in zip(names, mask[row], strict=True) if not may]
    rest = f"it may not look at {', '.join(hidden)}" if hidden else "nothing is hidden from it"
    if rows == columns and torch.equal(mask, torch.ones_like(mask).tril()):
        rest = f"{', '.join(hidden) or 'nothing'} {'are' if len(hidden) > 1 else 'is'} in its future"
    return f"{query} may look at {seen}; {rest}." if seen else f"{query} may look at nothing."


def _weights_panel(
    figure: Figure | SubFigure, count: int, labels: Sequence[str] | None
) -> tuple[Show, Sequence[Artist]]:
    """Bars for `count` weights, two gauges below: what shows weights under a title, and what it moves."""
    above, below = figure.subplots(2, 1, height_ratios=(3, 1))
    plots.weight_bars(torch.zeros(count), labels=labels, ax=above)
    below.set(xlim=(0, 1), ylim=(-0.2, 1.8))
    below.set_axis_off()
    below.barh([1, 0], [1, 1], height=0.3, color=plots.PALE)
    levels = below.barh([1, 0], [0, 0], height=0.3, color=plots.ACCENT)
    texts = [below.text(0, y + 0.24, "", fontsize=9.5) for y in (1, 0)]

    def show(weights: torch.Tensor, title: str) -> str:
        above.title.set_text(title)
        move_bars(above, weights)
        readings = _readings(weights)
        for level, text, (share, words) in zip(levels, texts, readings, strict=True):
            level.set_width(share)
            text.set_text(words)
        return f"largest weight {weights.max():.3f}; " + "; ".join(words for _, words in readings)

    return show, (above.title, *above.patches, *above.texts, *levels, *texts)
