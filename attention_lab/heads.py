"""Several attention heads beside each other: a row of heatmaps on one colour scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attention_lab import plots

WIDEST = 12.0  # inches: a notebook shows no more without shrinking it
NARROW, NARROWEST = 0.2, 0.15  # inches of a cell: names are upright below one, and left out below the other


@matplotlib.rc_context(plots.STYLE)
def head_heatmaps(
    weights: plots.Values,
    *,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    annotate: bool | None = None,
) -> Figure:
    """Draw the weights `(H, T_q, T_k)` of one sentence, a panel for each head, all from 0 (pale) to 1 (dark).

    `names` are the titles of the panels: head 0, head 1, ... by default. `annotate` writes the numbers into
    the cells; by default wherever they fit.
    """
    array = _heads(weights)
    count, rows, columns = array.shape
    names = [f"head {head}" for head in range(count)] if names is None else list(names)
    if len(names) != count:
        raise ValueError(f"names needs one for each of the {count} heads, and has {len(names)}.")
    # Names of queries are left of the first panel only: they are the same for all.
    cell = min(0.62, 6.5 / max(rows, columns), (WIDEST - 2.2) / (count * columns))
    width = min(WIDEST, max(1.8, cell * columns) * count + 2.2)
    upright = keys is not None and NARROWEST <= cell < NARROW
    height = max(0.8, cell * rows) + (1.9 if upright else 1.2)
    figure, axes = plt.subplots(1, count, figsize=(width, height), layout="constrained", squeeze=False)
    colours = ScalarMappable(Normalize(0, 1), plots.colours())  # one bar serves the whole row
    figure.colorbar(colours, ax=list(axes[0]), label="weight", ticks=[0, 0.5, 1], fraction=0.03, pad=0.02)
    figure.draw_without_rendering()  # the panels get the sizes by which names and numbers are fitted
    figure.set_visible(False)  # otherwise seaborn draws the whole figure once for each panel
    for place, (ax, name, head) in enumerate(zip(axes[0], names, array, strict=True)):
        plots.attention_heatmap(head, queries=queries, keys=keys, ax=ax, title=name, annotate=annotate)
        if ax.collections[0].colorbar is not None:
            ax.collections[0].colorbar.remove()
        if place > 0:
            ax.set_ylabel("")
            ax.tick_params("y", labelleft=False)
        if cell < (NARROWEST if upright else NARROW):  # the names of all places would lie over each other
            _name_ends(ax, rows, columns, queries, keys)
    figure.set_visible(True)
    labels = [label for ax in axes[0] for label in ax.get_xticklabels()]
    if any(label.get_rotation() for label in labels):  # in one panel, so in all
        angle, beside = (90, "center") if upright else (45, "top")
        plt.setp(labels, rotation=angle, ha="right", va=beside, rotation_mode="anchor")
    return figure


def _name_ends(
    ax: Axes, rows: int, columns: int, queries: Sequence[str] | None, keys: Sequence[str] | None
) -> None:
    """Name the first and the last place of each axis only."""
    for axis, count, names in ((ax.yaxis, rows, queries), (ax.xaxis, columns, keys)):
        ends = sorted({0, count - 1})
        labels = [str(end) if names is None else names[end] for end in ends]
        axis.set_ticks([end + 0.5 for end in ends], labels, parse_math=False, rotation=0, ha="center")


def _heads(weights: plots.Values) -> NDArray[Any]:
    """The weights as an array `(H, T_q, T_k)`, or a `ValueError` that says what to do."""
    if isinstance(weights, (list, tuple)):
        weights = torch.stack([torch.as_tensor(head) for head in weights]) if weights else np.empty(0)
    if isinstance(weights, torch.Tensor):
        weights = weights.detach().cpu().double().numpy()
    array = np.asarray(weights, dtype=float)
    if array.ndim != 3 or array.size == 0:
        advice = {
            2: ": for a single head use attention_heatmap",
            4: ": pick one sentence, such as weights[0] if the batch comes first",
        }.get(array.ndim, "")
        raise ValueError(f"head_heatmaps draws weights of shape (H, T_q, T_k), not {array.shape}{advice}.")
    finite = array[np.isfinite(array)]
    if finite.size and (finite.min() < 0 or finite.max() > 1 + 1e-4):
        raise ValueError(
            f"head_heatmaps draws weights from 0 to 1, and these lie between {finite.min():.2f} and "
            f"{finite.max():.2f}: are they scores, before the softmax?"
        )
    return array
