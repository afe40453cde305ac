"""Things that move: a query among its keys, a head's query, and two values that are mixed and separated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import ipywidgets as widgets
import matplotlib
import torch
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from attention_lab import plots
from attention_lab.sliders.explorer import ARROW, FIGURE, explorer, move_bars

STEP = 5  # degrees, or hundredths of a share
LOUDNESS = 6.0  # of the scores of tokens on a circle
KEPT = 10  # what the heads say is rounded to so many parts of 1


@matplotlib.rc_context(plots.STYLE)
def query_slider(keys: plots.Values, *, names: Sequence[str], length: float = 2.0) -> widgets.VBox:
    """Turn a query of this length among keys `(T, 2)`, and see its scores and their softmax."""
    arrows = torch.as_tensor(keys).detach().double()
    if arrows.ndim != 2 or arrows.shape[1] != 2 or len(arrows) != len(names):
        raise ValueError(f"keys must be (T, 2), with a name for each, not {tuple(arrows.shape)}.")
    figure = Figure((9.0, 4.0), **FIGURE)
    plane, bars = figure.subplots(1, 2, width_ratios=(1.2, 1))
    reach = max(float(arrows.abs().max()), length) + 0.5
    plane.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="The query among its keys")
    for across, up in arrows.tolist():
        plane.quiver(0, 0, across, up, color=plots.ACCENT, width=0.008, **ARROW)
    (border,) = plane.plot([0, 0], [0, 0], color="grey", linestyle="--", linewidth=1)
    query = plane.quiver(0, 0, 1, 0, color="black", width=0.008, **ARROW)
    # Beside their keys and drawn after the query, which may turn over them.
    labels = [
        plane.annotate(
            name,
            (across, up),
            textcoords="offset points",
            xytext=(-11 * up / math.hypot(across, up), 11 * across / math.hypot(across, up)),
            ha="center",
            va="center",
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )
        for name, (across, up) in zip(names, arrows.tolist(), strict=True)
    ]
    plots.weight_bars(torch.zeros(len(arrows)), labels=list(names), ax=bars)
    bars.set_title("softmax of the scores")
    moving = (border, query, *labels, *bars.patches, *bars.texts)

    def show(angle: float) -> str:
        turned = math.radians(angle)
        across, up = length * math.cos(turned), length * math.sin(turned)
        query.set_UVC([across], [up])
        border.set_data([-9 * up, 9 * up], [9 * across, -9 * across])
        scores = arrows @ torch.tensor([across, up], dtype=torch.float64)  # (T,)
        weights = torch.softmax(scores, dim=-1)
        move_bars(bars, weights)
        scores_text = ", ".join(
            f"{name} {score:.2f}" for name, score in zip(names, scores.tolist(), strict=True)
        )
        top = names[int(weights.argmax())]
        return f"Query at {angle:g}°. Scores: {scores_text}. Most weight to {top}: {weights.max():.2f}."

    slider = widgets.IntSlider(25, -175, 180, STEP, description="the query's direction in degrees")
    return explorer(figure, show, moving, slider, exact="type")


@matplotlib.rc_context(plots.STYLE)
def question_slider(positions: int = 6) -> widgets.VBox:
    """Turn the question that tokens on a circle ask: W_q is a rotation, W_k leaves the tokens as they are."""
    turns = torch.arange(positions, dtype=torch.float64) * (2 * math.pi / positions)
    tokens = torch.stack([turns.cos(), turns.sin()], dim=-1)  # (T, 2)
    names = [f"position {position}" for position in range(positions)]
    figure = Figure((9.0, 4.0), **FIGURE)
    circle, grid = figure.subplots(1, 2, width_ratios=(1, 1.2))
    title = "tokens, and the query of position 1"
    circle.set(xlim=(-1.8, 1.8), ylim=(-1.7, 1.7), aspect="equal", title=title)
    circle.set_axis_off()
    circle.scatter(*tokens.T.tolist(), color=plots.ACCENT, s=60)
    for name, (across, up) in zip(names, (1.42 * tokens).tolist(), strict=True):
        circle.text(across, up, name, ha="center", va="center")
    query_arrow = circle.quiver(0, 0, 1, 0, color="black", width=0.008, **ARROW)
    plots.attention_heatmap(
        torch.eye(positions), queries=names, keys=names, ax=grid, title="weights", annotate=False
    )
    (cells,) = grid.collections

    def show(angle: float) -> str:
        turned = math.radians(angle)
        cosine, sine = math.cos(turned), math.sin(turned)
        question = torch.tensor([[cosine, -sine], [sine, cosine]], dtype=torch.float64)  # W_q, (2, 2)
        queries = tokens @ question.T
        weights = torch.softmax(LOUDNESS * queries @ tokens.T, dim=-1)  # (T, T)
        query_arrow.set_UVC(*queries[1].tolist())
        cells.set_array(weights.numpy())
        top = int(weights[1].argmax())
        weight = float(weights[1, top])
        return f"W_q turns by {angle:g}°: position 1 looks most at position {top} ({weight:.2f})."

    slider = widgets.IntSlider(0, -175, 180, STEP, description="W_q turns by degrees")
    return explorer(figure, show, (query_arrow, cells), slider, exact="type")


@matplotlib.rc_context(plots.STYLE)
def shares_slider(values: tuple[float, float] = (2.37, -1.14)) -> widgets.VBox:
    """Move the shares in which two heads mix two values, and separate the two values again."""
    figure = Figure((9.0, 3.6), **FIGURE)
    mixed, recovered = figure.subplots(1, 2, sharey=True)
    reach = 2.5 * max(map(abs, values))
    panels = []
    for ax, names, title in (
        (mixed, ["head 0", "head 1"], "what the heads return"),
        (recovered, ["first value", "second value"], "what a matrix recovers"),
    ):
        heights = ax.bar(names, [0, 0], color=plots.ACCENT, width=0.5)
        texts = [ax.text(place, 0, "", ha="center", va="bottom") for place in range(2)]
        ax.set(title=title, ylim=(-reach, reach))
        ax.axhline(0, color="grey", linewidth=0.8)
        panels.append((heights, texts))
    for place, value in enumerate(values):
        recovered.hlines(value, place - 0.35, place + 0.35, color="black", linestyle="--", linewidth=1.2)

    def show(percent: float) -> str:
        share = percent / 100
        mixing = torch.tensor([[share, 1 - share], [1 - share, share]], dtype=torch.float64)
        outputs = (mixing @ torch.tensor(values, dtype=torch.float64) * KEPT).round() / KEPT
        separated = torch.linalg.solve(mixing, outputs).tolist() if percent > 50 else None
        shown = (outputs.tolist(), separated or [0.0, 0.0])
        for numbers, (heights, texts) in zip(shown, panels, strict=True):
            for bar, text, number in zip(heights, texts, numbers, strict=True):
                bar.set_height(number)
                text.set_text(f"{number:.2f}" if heights is panels[0][0] or separated else "anything")
                text.set_y(max(number, 0.0))
        spoken = (
            f"Shares {percent:g} and {100 - percent:g}: "
            f"the heads return {outputs[0]:.1f} and {outputs[1]:.1f}. "
        )
        if separated is None:
            return spoken + "Both return the same, so the two values cannot be separated."
        growth = 1 / (2 * share - 1)
        return spoken + (
            f"Separated: {separated[0]:.2f} and {separated[1]:.2f}; "
            f"an error of the heads grows at most {growth:.1f}-fold."
        )

    slider = widgets.IntSlider(75, 50, 100, STEP, description="larger share in per cent")
    moving = [artist for heights, texts in panels for artist in (*heights, *texts)]
    return explorer(figure, show, moving, slider, exact="type")
