"""Generation, step by step: which keys are computed again, and which come from the cache."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets as widgets
import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from attention_lab import plots
from attention_lab.sliders.explorer import FIGURE, explorer, step_buttons

ROWS = ("without a cache", "with a cache")
INK = "black"
NEW, KEPT, NOTHING = "new", "kept", ""


def keys_of(step: int, prompt: int, cached: bool) -> tuple[int, int]:
    """Return how many keys a step (from 1) takes from the cache, and how many it computes."""
    seen = prompt + step - 1  # the step's own result is not among its keys
    cached_keys = seen - 1 if cached and step > 1 else 0
    return cached_keys, seen - cached_keys


@matplotlib.rc_context(plots.STYLE)
def cache_stepper(tokens: Sequence[str], *, prompt: int) -> widgets.VBox:
    """Generate the `tokens` behind the first `prompt` of them one by one, by slider or by buttons."""
    if not 1 <= prompt < len(tokens):
        raise ValueError(f"the prompt takes 1 to {len(tokens) - 1} of the tokens, not {prompt}.")
    figure = Figure((9.0, 3.2), **FIGURE)
    ax = figure.subplots()
    ax.set(xlim=(-2.3, len(tokens) + 2.3), ylim=(-0.2, 3.0))
    ax.set_axis_off()
    words = [ax.text(place + 0.5, 2.55, token, ha="center") for place, token in enumerate(tokens)]
    blocks: list[list[tuple[Rectangle, Text]]] = []
    totals = []
    for row, name in enumerate(ROWS):
        bottom = 1.3 - 1.2 * row
        ax.text(-0.2, bottom + 0.45, name, ha="right", va="center")
        blocks.append([])
        for place in range(len(tokens)):
            patch = Rectangle((place + 0.05, bottom), 0.9, 0.9, edgecolor=INK, linewidth=1.0)
            ax.add_patch(patch)
            text = ax.text(place + 0.5, bottom + 0.45, "", ha="center", va="center", fontsize=9)
            blocks[row].append((patch, text))
        totals.append(ax.text(len(tokens) + 0.2, bottom + 0.45, "", va="center"))

    def show(value: float) -> str:
        step, sums = int(value), []
        seen = prompt + step - 1
        for place, word in enumerate(words):
            word.set_visible(place <= seen)
            word.set_fontweight("bold" if place == seen else "normal")
        for row, cached in enumerate((False, True)):
            cached_keys, _ = keys_of(step, prompt, cached)
            for place, (patch, text) in enumerate(blocks[row]):
                label = NOTHING if place >= seen else KEPT if place < cached_keys else NEW
                patch.set_visible(label != NOTHING)
                patch.set_facecolor(plots.ACCENT if label == NEW else plots.PALE)
                patch.set_hatch("" if label == NEW else "//")
                text.set_text(label)
                text.set_color("white" if label == NEW else INK)
                text.set_bbox(
                    None if label != KEPT else {"facecolor": "white", "edgecolor": "none", "pad": 1}
                )
            sums.append(sum(keys_of(past, prompt, cached)[1] for past in range(1, step + 1)))
            totals[row].set_text(f"{sums[row]} made so far")
        cached_keys, new = keys_of(step, prompt, True)
        return (
            f"Step {step} makes '{tokens[seen]}'. With a cache: {cached_keys} keys kept, {new} computed now; "
            f"without: {seen} computed now. Keys made so far: {sums[1]} with a cache, {sums[0]} without."
        )

    slider = widgets.IntSlider(1, min=1, max=len(tokens) - prompt, description="step")
    moving = (*words, *totals, *(part for row in blocks for pair in row for part in pair))
    return explorer(figure, show, moving, slider, *step_buttons(slider))
