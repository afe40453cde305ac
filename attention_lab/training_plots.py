"""Training runs as pictures: the curves of several models, and how far seeds or epochs lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import stdtrit

from attention_lab import plots

_BAR: dict[str, Any] = {"fmt": "|", "markersize": 14, "markeredgewidth": 2, "elinewidth": 2, "capsize": 4}
_NOTE: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}

History = Mapping[str, Sequence[float]]  # what was measured after each epoch, by its name


@matplotlib.rc_context(plots.STYLE)
def training_curves(runs: Mapping[str, Sequence[History]]) -> Figure:
    """Draw each model's runs (one a seed) over the epochs, a panel for each thing measured, two in a row.

    A line is the mean of the runs, the band around it goes from the lowest run to the highest. Panels
    about the same quantity, by the last word of their names ("loss"), share one scale. Every run has the
    same measurements, each with a number for each epoch; anything else raises `ValueError`.
    """
    measured = _measured(runs)
    rows = (len(measured) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(11, 3.5 * rows), layout="constrained", squeeze=False)
    shared: dict[str, Axes] = {}
    for ax, name in zip(axes.flat, measured, strict=False):
        tables = {model: np.array([run[name] for run in histories]) for model, histories in runs.items()}
        epochs = range(1, 1 + len(next(iter(tables.values()))[0]))
        means = {model: table.mean(axis=0) for model, table in tables.items()}
        quantity = name.split()[-1]
        if quantity in shared:  # before anything is drawn, so that the scale holds all of it
            ax.sharey(shared[quantity])
        shared.setdefault(quantity, ax)
        plots.curves(epochs, means, x_label="epoch", y_label=quantity, title=name, ax=ax)
        for line, table in zip(ax.get_lines(), tables.values(), strict=True):
            ax.fill_between(epochs, table.min(axis=0), table.max(axis=0), color=line.get_color(), alpha=0.15)
        ax.set_xticks(epochs)
        legend = ax.get_legend()
        if legend is not None and ax is not axes[0, 0]:
            legend.remove()  # one serves them all
    for empty in axes.flat[len(measured) :]:
        empty.remove()
    return figure


def _measured(runs: Mapping[str, Sequence[History]]) -> list[str]:
    """The names of what was measured, the same in every run, or a `ValueError` that says what is not."""
    lengths = [
        {name: len(values) for name, values in history.items()}
        for histories in runs.values()
        for history in histories
    ]
    if not lengths or not lengths[0] or not all(runs.values()):
        raise ValueError("training_curves needs at least one run of each model, with its measurements.")
    if any(length != lengths[0] for length in lengths) or len(set(lengths[0].values())) != 1:
        raise ValueError("training_curves needs the same measurements, epoch by epoch, in every run.")
    return list(lengths[0])


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean of a few independent `values`, and its 95 % bounds by Student's t distribution.

    Two values are the least that say anything about their spread; fewer raise `ValueError`.
    """
    if len(values) < 2:
        raise ValueError(f"mean_interval needs two values or more, not {len(values)}.")
    sample = np.asarray(values, dtype=float)
    half = float(stdtrit(len(sample) - 1, 0.975) * sample.std(ddof=1) / np.sqrt(len(sample)))
    mean = float(sample.mean())
    return mean, mean - half, mean + half


@matplotlib.rc_context(plots.STYLE)
def spread(
    values: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    reference: tuple[float, str] | None = None,
    interval: bool = True,
) -> Axes:
    """Draw all the values of each name on a row of its own: a dot for each, and where they lie together.

    That is the mean with its 95 % interval where `interval` is asked for (two values or more), and else
    the median. `reference` is a place on the axis and what to call it: a dashed line.
    """
    if not values or not all(len(row) for row in values.values()):
        raise ValueError("spread needs at least one value for each name.")
    ax = plt.subplots(figsize=(7.5, 1.3 + 0.45 * len(values)), layout="constrained")[1]
    for place, row in enumerate(values.values()):
        ax.plot(row, [place] * len(row), "o", color=plots.ACCENT, alpha=0.45, markersize=6)
        if interval and len(row) > 1:
            mean, low, high = mean_interval(row)
            ax.errorbar(mean, place, xerr=[[mean - low], [high - mean]], color=plots.INK, **_BAR)
        elif len(row) > 1:
            ax.plot(np.median(row), place, "|", color=plots.INK, markersize=16, markeredgewidth=2)
    if reference is not None:
        where, name = reference
        ax.axvline(where, color=plots.INK, linestyle="--", linewidth=1)
        ax.annotate(name, (where, 1), xycoords=("data", "axes fraction"), xytext=(3, 2), **_NOTE)
    ax.set_yticks(range(len(values)), list(values))
    ax.set(xlabel=x_label, ylim=(len(values) - 0.5, -0.5))  # the first name is on top
    ax.grid(axis="x")
    return ax
