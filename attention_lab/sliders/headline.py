"""A line to type a headline into: the class that a model gives it, and what its tokens look at."""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import matplotlib
import torch
from matplotlib.figure import Figure
from traitlets import Unicode

from attention_lab import plots
from attention_lab.live_box import LiveBox
from attention_lab.sliders.explorer import FIGURE

# Of a text: its tokens, the probabilities (C,), and the weights (T, T).
Read = Callable[[str], tuple[Sequence[str], torch.Tensor, torch.Tensor]]
NOTHING = "Type a headline."


def headline_box(read: Read, class_names: Sequence[str], examples: Sequence[str]) -> widgets.VBox:
    """Walk through examples, or type a headline: its probabilities, and its attention weights."""
    slider = widgets.IntSlider(0, min=0, max=len(examples) - 1, description="example")
    line = widgets.Text(examples[0], description="or type", continuous_update=False)
    line.layout.width = "34em"
    picture = widgets.Image(tooltip="The line below says what is shown.", width=860)
    picture.add_traits(description=Unicode("").tag(sync=True))  # its name for screen readers is the tooltip
    picture.layout.max_width = "100%"
    summary = widgets.HTML()

    def update(text: str) -> None:
        figure = headline_figure(read, class_names, text)
        label = str(figure.get_label())
        if label != NOTHING:
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png")
            picture.value = buffer.getvalue()
        summary.value = (
            f'<p role="status" aria-live="polite" style="line-height: 1.4">{html.escape(label)}</p>'
        )

    slider.observe(lambda change: setattr(line, "value", examples[change["new"]]), names="value")
    line.observe(lambda change: update(change["new"]), names="value")
    update(line.value)
    return LiveBox([widgets.HBox([slider, line]), picture, summary], [summary])


@matplotlib.rc_context(plots.STYLE)
def headline_figure(read: Read, class_names: Sequence[str], text: str) -> Figure:
    """The probability of each class, and the weights from each token to each, for one text."""
    figure = Figure((9.0, 4.2), **FIGURE)
    if not text.strip():
        figure.set_label(NOTHING)
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
