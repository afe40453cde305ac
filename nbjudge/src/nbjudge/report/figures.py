"""The report's pictures, as SVG that a page can hold: dark, middle and pale, so that grey is enough."""

from __future__ import annotations

import io
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

WIDTH = 6.6  # inches
MOST_BARS = 40  # of a histogram
LONGEST_NAME = 60
MOST_MISTAKES = 12
MOST_ROWS = 25  # of a bar chart that lies
INK, ACCENT, PALE = "#1b2733", "#2f6f8f", "#e9eef1"
STYLE: dict[Any, Any] = {
    "figure.facecolor": "white",
    "axes.edgecolor": ".15",
    "axes.labelcolor": ".15",
    "text.color": ".15",
    "xtick.color": ".15",
    "ytick.color": ".15",
    "xtick.bottom": False,
    "ytick.left": False,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titleweight": "bold",
    "axes.titlesize": 12,
    "axes.titlepad": 10,
    "legend.frameon": False,
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "lines.solid_capstyle": "round",
}
# Text stays text: the reader's own font, and small files. Nothing in a picture tells when it was made.
LOOK = STYLE | {"svg.fonttype": "none", "svg.hashsalt": "report", "font.family": "sans-serif"}
LOOK |= {"font.sans-serif": ["DejaVu Sans"], "hatch.linewidth": 0.8, "text.parse_math": False}


@dataclass(frozen=True)
class Picture:
    """A picture as the address of an image, and what it shows in words."""

    source: str
    alt: str
    note: str = ""


@matplotlib.rc_context(LOOK)
def points_histogram(points: Sequence[float], max_points: float) -> Picture:
    """How many students have how many points."""
    figure, ax = _new(2.9)
    heights, width = bins(points, max(max_points, *points))
    _draw_bars(ax, heights, width)
    middle = median(points)
    ax.axvline(middle, color=INK, linestyle="--", linewidth=1.8)
    ax.set(xlabel=f"points, of {max_points:g}")
    ax.set_title(f"Points (the dashed line is the median, {middle:g})", loc="left")
    where = max(heights, key=lambda place: heights[place])
    alt = (
        f"Histogram of the points of {len(points)} students: from {min(points):g} to {max(points):g} of "
        f"{max_points:g}, median {middle:g}; the highest bar, {heights[where]} students, is at {where:g}."
    )
    return _picture(figure, alt)


@matplotlib.rc_context(LOOK)
def exercise_bars(exercises: pd.DataFrame) -> Picture:
    """Of each exercise how many students have all, some and none of its points."""
    marked = exercises[exercises[["full", "part", "none"]].sum(axis=1) > 0]
    counts = marked[["full", "part", "none"]]
    share = counts.div(counts.sum(axis=1), axis=0)
    # Where there are too many to read, those that cost most are shown.
    shown = share["full"].nsmallest(MOST_ROWS).index.sort_values()
    figure, ax = _new(1.3 + 0.36 * len(shown))
    looks = (("full", INK, "white", ""), ("part", "#8fb3c4", INK, "////"), ("none", "#ffffff", INK, ""))
    left = pd.Series(0.0, index=shown)
    places = range(len(shown))
    for kind, colour, ink, hatch in looks:
        widths = share.loc[shown, kind]
        ax.barh(
            places, widths, 0.7, left, color=colour, hatch=hatch, edgecolor=INK, lw=0.8, label=_LABELS[kind]
        )
        for place, start, width, count in zip(places, left, widths, counts.loc[shown, kind], strict=True):
            if width > 0.05:
                box = {"facecolor": colour, "edgecolor": "none", "pad": 1.2} if hatch else None
                look: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "bbox": box}
                ax.text(start + width / 2, place, f"{count}", fontsize=9, **look)
        left = left + widths
    _name_rows(ax, marked.loc[shown, "exercise"])
    ax.set(xlim=(0, 1), xlabel="share of the students (numbers: how many)")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    rows = zip(marked.loc[shown, "exercise"], *(counts.loc[shown, kind] for kind in counts), strict=True)
    alt = "For each exercise how many students have all, some and none of its points: " + "; ".join(
        f"{name} {full}, {part}, {none}" for name, full, part, none in rows
    )
    note = (
        f"The {len(shown)} of {len(marked)} with the fewest full marks." if len(shown) < len(marked) else ""
    )
    return _picture(figure, alt + ".", note)


@matplotlib.rc_context(LOOK)
def mistake_bars(mistakes: pd.DataFrame) -> Picture:
    """The most frequent named mistakes and how many made them; those of one student stay in the table."""
    shown = mistakes[mistakes["students"] > 1].head(MOST_MISTAKES)
    figure, ax = _new(1.0 + 0.42 * len(shown))
    bars = ax.barh(range(len(shown)), shown["students"], 0.62, color=ACCENT, edgecolor=INK, linewidth=0.8)
    ax.bar_label(bars, [f"{count}" for count in shown["students"]], padding=3, fontsize=9)
    _name_rows(ax, [f"{row.mistake}\n{row.exercise}" for row in shown.itertuples()])
    ax.set(xlabel="students", xlim=(0, 1.1 * max(shown["students"])))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    said = "; ".join(f"{row.mistake} in {row.exercise} {row.students}" for row in shown.itertuples())
    rest = len(mistakes) - len(shown)
    return _picture(
        figure,
        f"The named mistakes and how many students made them: {said}.",
        f"The most frequent; {rest} more {'stands' if rest == 1 else 'stand'} in the table." if rest else "",
    )


@matplotlib.rc_context(LOOK)
def seconds_histogram(seconds: Sequence[float]) -> Picture:
    """How long grading took."""
    figure, ax = _new(2.5)
    heights, width = bins(seconds, max(seconds))
    _draw_bars(ax, heights, width)
    ax.set(xlabel="seconds for one submission")
    return _picture(
        figure,
        f"Histogram of the seconds that grading took for {len(seconds)} submissions: median "
        f"{median(seconds):.1f}, longest {max(seconds):.1f}.",
    )


_LABELS = {"full": "all points", "part": "some", "none": "none"}


def bins(values: Sequence[float], highest: float) -> tuple[dict[float, int], float]:
    """How many values lie around each of evenly spaced places from 0 to `highest`, and their distance."""
    width = _round_up(highest / MOST_BARS)
    steps = Counter(math.floor(value / width + 0.5) for value in values)
    last = max(*steps, math.floor(highest / width + 0.5))
    return {step * width: steps[step] for step in range(last + 1)}, width


def _draw_bars(ax: Axes, heights: Mapping[float, int], width: float) -> None:
    """The bars of a histogram, on an axis that begins before 0, where many are."""
    drawn = {place: height for place, height in heights.items() if height}
    ax.bar(list(drawn), list(drawn.values()), width * 0.92, color=ACCENT, edgecolor=INK, linewidth=0.8)
    ax.set(ylabel="students", xlim=(-width, max(heights) + width))
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.grid(axis="y", color=PALE)
    ax.set_axisbelow(True)


def _round_up(width: float) -> float:
    """The next of …, 0.5, 1, 2, 5, 10, …"""
    if width < 1e-9:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


def _new(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def _name_rows(ax: Axes, names: Iterable[str]) -> None:
    shown = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
    ax.set_yticks(range(len(shown)), shown, fontsize=9)
    ax.tick_params("y", length=0)
    ax.invert_yaxis()


def _picture(figure: Figure, alt: str, note: str = "") -> Picture:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(f"data:image/svg+xml;base64,{b64encode(drawn.getvalue()).decode()}", alt, note)
