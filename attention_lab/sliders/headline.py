"""A line to type a headline into: the class that a model gives it, and what its tokens look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ipywidgets as widgets
import matplotlib
import torch
from matplotlib.figure import Figure

from attention_lab import plots
from attention_lab.sliders.explorer import FIGURE, FigureBox

# Of a text: its tokens, the probabilities (C,), and the weights (T, T).
Read = Callable[[str], tuple[Sequence[str], torch.Tensor, torch.Tensor]]


def headline_box(read: Read, class_names: Sequence[str], examples: Sequence[str]) -> widgets.VBox:
    """Walk through examples, or type a headline: its probabilities, and its attention weights."""
    slider = widgets.IntSlider(0, min=0, max=len(examples) - 1, description="example")
    line = widgets.Text(examples[0], description="or type", continuous_update=False, layout={"width": "34em"})
    slider.observe(lambda change: setattr(line, "value", examples[change["new"]]), names="value")
    return FigureBox(partial(headline_figure, read, class_names), line, controls=[slider, line])


@matplotlib.rc_context(plots.STYLE)
def headline_figure(read: Read, class_names: Sequence[str], text: str) -> Figure:
    """The probability of each class, and the weights from each token to each, for one text."""
    figure = Figure((9.0, 4.2), **FIGURE)
    if not text.strip():
        figure.set_label("Type a headline.")
        return figure
    tokens, probabilities, weights = read(text)
    bars, grid = figure.subplots(1, 2, width_ratios=(1, 1.5))
    places = range(len(class_names))
    bars.barh(places, probabilities.tolist(), color=plots.ACCENT)
    bars.set_yticks(places, class_names)
    bars.invert_yaxis()
    bars.set(xlim=(0, 1), title="the desk")
    options: dict[str, Any] = {"queries": list(tokens), "keys": list(tokens), "ax": grid}
    plots.attention_heatmap(weights, annotate=len(tokens) <= 6, **options)
    grid.set_title("the weights")
    best = int(probabilities.argmax())
    received = weights.mean(dim=0)  # of each key, over the queries
    favourite = int(received.argmax())
    figure.set_label(
        f"“{text}” goes to {class_names[best]} ({float(probabilities[best]):.2f}). "
        f"Most looked at: {tokens[favourite]} ({float(received[favourite]):.2f} on average)."
    )
    return figure
