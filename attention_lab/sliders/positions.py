"""Positions as clock hands, as a heatmap of their encoding, and by their dot products.

The encoding itself is the caller's. A figure's label (`figure.get_label()`) says in words what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import matplotlib
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from attention_lab.plots import ACCENT, INK, PALE, STYLE
from attention_lab.sliders.explorer import FigureBox

LARGEST_WIDTH, LONGEST = 128, 128
# Ever lighter from -1 to 1, so that no two values look alike when printed in grey.
COLOURS = matplotlib.colors.LinearSegmentedColormap.from_list("signed", [INK, "#5f9ab5", "#ffffff"])
_FIGURE: dict[str, Any] = {"dpi": 110, "layout": "constrained", "facecolor": "white"}

Encode = Callable[[int, int], torch.Tensor]  # (max_len, embed_dim) -> (max_len, E)


@matplotlib.rc_context(STYLE)
def clock_figure(position: int, speeds: Sequence[float]) -> Figure:
    """One clock for each of the `speeds` (radians a position), its hand at its angle at `position`.

    A hand starts upright and turns clockwise; where its tip points are the sine (to the right) and the
    cosine (up) of the angle.
    """
    if not speeds or not all(math.isfinite(speed) for speed in speeds):
        raise ValueError(f"clock_figure needs the speed of at least one clock, and has {list(speeds)}.")
    figure = plt.figure(figsize=(2.3 * len(speeds), 3.1), **_FIGURE)
    sentences = [f"Position {position}."]
    for ax, speed in zip(figure.subplots(1, len(speeds), squeeze=False)[0], speeds, strict=True):
        angle = position * speed
        x, y = math.sin(angle), math.cos(angle)
        _draw_clock(ax, x, y)
        once_round = f"once round in {2 * math.pi / speed:,.0f} positions" if speed else "does not turn"
        ax.set_title(f"speed {speed:g}")
        ax.set_xlabel(f"sine {x:.2f}, cosine {y:.2f}\n{once_round}")
        sentences.append(f"Speed {speed:g}: sine {x:.2f}, cosine {y:.2f}, {once_round}.")
    figure.suptitle(f"position {position}", color=INK)
    figure.set_label(" ".join(sentences))
    return figure


def _draw_clock(ax: Axes, x: float, y: float) -> None:
    ax.add_patch(Circle((0, 0), 1, facecolor=PALE, edgecolor=INK, linewidth=1.2))
    ax.plot([0, x], [y, y], linestyle=":", color=INK, linewidth=1)  # the sine, seen from the upright
    ax.plot([0, 0], [0, y], linestyle="--", color=INK, linewidth=1)  # the cosine
    ax.plot([0, x], [0, y], color=ACCENT, linewidth=3)
    ax.plot([x], [y], marker="o", color=ACCENT)
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal", xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)


def clock_slider(speeds: Sequence[float], *, last: int = 127) -> widgets.VBox:
    """Walk from position 0 to `last` and watch the hands of the clocks with these `speeds`."""
    slider = widgets.IntSlider(0, min=0, max=last, description="position")
    return FigureBox(lambda position: clock_figure(position, speeds), slider)


@matplotlib.rc_context(STYLE)
def encoding_figure(encoding: torch.Tensor) -> Figure:
    """The encoding `(T, E)` as a heatmap, and the dot products of the middle position by distance."""
    table = _table("encoding_figure", encoding)
    length, width = table.shape
    figure = plt.figure(figsize=(10.5, 4.2), **_FIGURE)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    mesh = left.imshow(table.numpy(), cmap=COLOURS, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    left.set(xlabel="dimension", ylabel="position")
    left.set_title(f"{length} positions, {width} dimensions")
    left.xaxis.get_major_locator().set_params(integer=True)
    left.yaxis.get_major_locator().set_params(integer=True)
    figure.colorbar(mesh, ax=left, label="value", ticks=[-1, 0, 1], fraction=0.046, pad=0.03)
    distances, products = products_by_distance(table)
    right.plot(distances.numpy(), products.numpy(), color=ACCENT, linewidth=2)
    right.axvline(0, color=INK, linewidth=0.8, linestyle="--")
    right.set(xlabel=f"distance from position {length // 2}", ylabel="dot product of the two rows")
    right.set_title("How alike are two positions?")
    right.grid(True)
    own = float(products[length // 2])
    lowest = int(products.argmin())
    figure.set_label(
        f"{length} positions in {width} dimensions. The row of position {length // 2} has the dot product "
        f"{own:.2f} with itself; the lowest, {float(products[lowest]):.2f}, is at distance "
        f"{int(distances[lowest])}."
    )
    return figure


def products_by_distance(encoding: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Distances from the middle position of `(T, E)`, and its dot product with the row at each: both (T,)."""
    table = _table("products_by_distance", encoding)
    middle = len(table) // 2
    return torch.arange(len(table)) - middle, table @ table[middle]


def encoding_slider(encode: Encode, *, width: int = 64, length: int = 64) -> widgets.VBox:
    """Change width and length of the table that `encode(max_len, embed_dim)` returns, `(max_len, E)`."""
    wide = widgets.IntSlider(width, min=2, max=LARGEST_WIDTH, description="width E")
    long = widgets.IntSlider(length, min=2, max=LONGEST, description="length T")
    return FigureBox(lambda embed_dim, max_len: encoding_figure(encode(max_len, embed_dim)), wide, long)


@matplotlib.rc_context(STYLE)
def matrix_figure(matrix: torch.Tensor, *, title: str) -> Figure:
    """A square matrix `(E, E)` with numbers from -1 (dark) to 1 (white), such as a shift of all positions."""
    table = _table("matrix_figure", matrix)
    if table.shape[0] != table.shape[1]:
        raise ValueError(f"matrix_figure draws a square matrix, (E, E), not {tuple(table.shape)}.")
    count = len(table)
    side = min(6.0, max(2.4, 0.5 * count))
    figure = plt.figure(figsize=(side + 1.4, side + 0.9), **_FIGURE)
    ax = figure.subplots()
    mesh = ax.imshow(table.numpy(), cmap=COLOURS, vmin=-1, vmax=1)
    for row, column in table.nonzero().tolist() if count <= 16 else []:
        value = float(table[row, column])
        number = f"{value:.2f}" if abs(value) >= 0.005 else f"{value:.3f}"  # what is drawn is not 0
        colour = "white" if value < -0.2 else INK
        ax.text(column, row, number, ha="center", va="center", fontsize=8, color=colour)
    ax.set(xlabel="dimension of pe[pos]", ylabel="dimension of pe[pos + offset]", title=title)
    figure.colorbar(mesh, ax=ax, label="value", ticks=[-1, 0, 1], fraction=0.046, pad=0.04)
    filled = int((table.abs() > 1e-6).sum())
    figure.set_label(f"{title}: {count} by {count}, {filled} of {count * count} numbers are not 0.")
    return figure


def _table(function: str, encoding: torch.Tensor) -> torch.Tensor:
    """The encoding in float64 and out of any graph, or a `ValueError` that says what to do."""
    if not isinstance(encoding, torch.Tensor):
        kind = type(encoding).__name__
        raise ValueError(f"{function} draws a tensor of shape (T, E), not {kind}: is there a return?")
    table = encoding.detach().cpu().double()
    if table.ndim != 2 or table.numel() == 0:
        advice = ": take encoding[0]" if table.ndim == 3 else ""
        raise ValueError(f"{function} draws one table of shape (T, E), not {tuple(table.shape)}{advice}.")
    return table
