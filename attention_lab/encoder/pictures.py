"""Lesson 13's picture of all heads of an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from attention_lab.plots import ACCENT, STYLE, colours


@matplotlib.rc_context(STYLE)
def heads_picture(weights: torch.Tensor, mark: Sequence[tuple[int, int]] = ()) -> Axes:
    """Draw the weights (layers, H, T, T) of all heads, a row per block, on one colour scale from 0 to 1.

    `mark` frames heads, each a pair (block, head). Queries run down, keys run across. Returns the first Axes.
    """
    layers, heads = weights.shape[:2]
    figure, axes = plt.subplots(
        layers, heads, figsize=(0.85 * heads + 0.8, 0.9 * layers + 0.5), layout="constrained", squeeze=False
    )
    for layer in range(layers):
        for head in range(heads):
            ax = axes[layer, head]
            ax.imshow(weights[layer, head].detach().numpy(), cmap=colours(), vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
            marked = (layer, head) in mark
            for spine in ax.spines.values():
                spine.set(visible=True, color=ACCENT if marked else "#c5ced4", linewidth=3 if marked else 0.6)
            if layer == 0:
                ax.set_title(f"{head}", fontsize=9, fontweight="normal", pad=3)
        axes[layer, 0].set_ylabel(f"block {layer}", fontsize=9)
    figure.suptitle("head", fontsize=9)
    first: Axes = axes[0, 0]
    return first
