"""The course's pictures: weights as a heatmap or bars, a mask as a grid, and curves.

Every function takes tensors (or arrays) and returns the Axes it drew on; none calls `show`.
Without `ax` it opens a figure of its own, of a size that fits the data. The names of axes are the
course's: queries run down, keys run across.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, ListedColormap
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

#: What is drawn: a tensor (detached, and taken to the CPU), an array, or lists of numbers.
Values = torch.Tensor | NDArray[Any] | Sequence[Any]

#: A colour of the course's pictures: INK for words and lines, ACCENT for what counts, PALE for what does not.
INK, ACCENT, PALE = "#1b2733", "#2f6f8f", "#e9eef1"

#: seaborn's style "white": ink on opaque white, whatever the notebook's theme, as dark text on a dark page is
#: unreadable. It is written out, because seaborn takes a second to import, which its first picture can wait.
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "patch.edgecolor"), "white"),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), ".15"),
    **dict.fromkeys(("axes.grid", "xtick.bottom", "xtick.top", "ytick.left", "ytick.right"), False),
    **dict.fromkeys(
        ("axes.axisbelow", "axes.spines.bottom", "axes.spines.left", "patch.force_edgecolor"), True
    ),
    **dict.fromkeys(("axes.spines.right", "axes.spines.top"), False),
    **dict.fromkeys(("xtick.direction", "ytick.direction"), "out"),
    "font.family": ["sans-serif"],
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans", "sans-serif"],
    "grid.color": ".8",
    "grid.linestyle": "-",
    "lines.solid_capstyle": "round",
}
STYLE |= {"axes.titleweight": "bold", "axes.titlesize": 12, "axes.titlepad": 10, "legend.frameon": False}


def colours() -> Colormap:
    """Return the colours of weights, perceptually uniform from pale (0) to dark (1), in grey print too."""
    import seaborn as sns

    return sns.color_palette("mako_r", as_cmap=True)


@matplotlib.rc_context(STYLE)
def attention_heatmap(
    weights: Values,
    *,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    annotate: bool | None = None,
) -> Axes:
    """Draw weights `(T_q, T_k)`: row i is how query i spreads its attention over the keys.

    `annotate` writes the numbers into the cells; by default wherever they fit. A bare 0 there is
    exactly zero, 0.00 is only rounded to it. Values outside 0 to 1 (scores, say) get a scale of
    their own, and NaN is hatched.
    """
    array = _array("attention_heatmap", "weights", weights, ("T_q", "T_k"))
    names = _names("queries", queries, array.shape[0]), _names("keys", keys, array.shape[1])
    own_figure = ax is None
    ax = _grid_axes(array, margin=2.0) if ax is None else ax
    cell = _cell_inches(ax, array)
    annotate = cell >= 0.33 if annotate is None else annotate
    low, high = _limits(array)
    ax.patch.set(hatch="////", edgecolor="#8796a3")  # shows through where there is no number: NaN
    _draw_grid(
        ax,
        array,
        names,
        cmap=colours(),
        vmin=low,
        vmax=high,
        annot=np.vectorize(number_text, otypes=[str])(array) if annotate else None,
        annot_kws={"fontsize": min(10.0, max(5.0, 24 * cell))},
        # Numbers in the cells of a panel say what a colour bar would; elsewhere it is needed.
        cbar=own_figure or not annotate,
        cbar_kws={"label": "weight" if (low, high) == (0, 1) else "value", "fraction": 0.046, "pad": 0.04},
    )
    ax.set_title(title or ax.get_title())
    return ax


@matplotlib.rc_context(STYLE)
def weight_bars(
    weights: Values, *, labels: Sequence[str] | None = None, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw the weights `(T_k,)` of one query as bars with their numbers, one bar a key."""
    array = _array("weight_bars", "weights", weights, ("T_k",))
    count = len(array)
    names = _names("labels", labels, count)
    ax = _new_axes(min(9.0, max(3.6, 1.4 + 0.6 * count)), 3.0) if ax is None else ax
    bars = ax.bar(range(count), np.nan_to_num(array), width=0.7, color=ACCENT, edgecolor=INK, linewidth=0.8)
    if count <= 16:
        ax.bar_label(bars, [number_text(value) for value in array], padding=2, fontsize=9)
    low, high = _limits(array)
    margin = 0.12 * (high - low)  # for the number over the highest bar
    ax.set(ylim=(low - margin if low < 0 else low, high + margin), xlabel="key", ylabel="weight")
    if (low, high) == (0, 1):
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.grid(axis="y")
    _name_ticks(ax, "x", names, offset=0.0)
    ax.set_title(title or ax.get_title())
    return ax


@matplotlib.rc_context(STYLE)
def curves(
    x: Values,
    series: Mapping[str, Values],
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw each series `(N,)` over `x` `(N,)`; lines differ in dash and marker as well as in colour."""
    places = _array("curves", "x", x, ("N",))
    heights = {name: _array("curves", repr(name), values, ("N",)) for name, values in series.items()}
    for name, values in heights.items():
        if len(values) != len(places):
            raise ValueError(f"curves needs a value for each x: {name!r} has {len(values)}, x {len(places)}.")
    ax = _new_axes(6.4, 3.8) if ax is None else ax
    import seaborn as sns

    palette, dashes = sns.color_palette("colorblind", 8), ["-", "--", "-.", ":"] * 2
    ax.set_prop_cycle(color=palette, linestyle=dashes, marker=list("os^DvPX*"))
    step = math.ceil(len(places) / 12)
    for index, (name, values) in enumerate(heights.items()):
        # Staggered, so that lines on top of each other all show their markers.
        every = (index * step // len(heights), step)
        ax.plot(places, values, label=name, markersize=7, markeredgecolor="white", markevery=every)
    ax.set(xlabel=x_label, ylabel=y_label)
    ax.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    ax.grid(True)
    if len(heights) > 1:
        ax.legend(handlelength=3.2)
    ax.set_title(title or ax.get_title())
    return ax


@matplotlib.rc_context(STYLE)
def mask_grid(
    mask: Values,
    *,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a boolean mask `(T_q, T_k)`, `True` = may attend."""
    array = _array("mask_grid", "mask", mask, ("T_q", "T_k"), boolean=True)
    names = _names("queries", queries, array.shape[0]), _names("keys", keys, array.shape[1])
    ax = _grid_axes(array, margin=1.2) if ax is None else ax
    cell = _cell_inches(ax, array)
    signs = np.where(array, "✓", "✗") if cell >= 0.25 else None
    look = {"cmap": ListedColormap([PALE, ACCENT]), "annot_kws": {"fontsize": min(14.0, 36 * cell)}}
    _draw_grid(ax, array, names, vmin=0, vmax=1, annot=signs, cbar=False, **look)
    may, may_not = ("dark:", "pale:") if signs is None else ("✓", "✗")
    ax.set_xlabel(f"key\n{may} may attend    {may_not} may not")
    ax.set_title(title or ax.get_title())
    return ax


def highlight_row(ax: Axes, row: int, shape: tuple[int, ...]) -> None:
    """Frame one row of a `(T_q, T_k)` grid and dim the others, in place of an earlier highlight."""
    for patch in [patch for patch in ax.patches if patch.get_gid() == "highlight"]:
        patch.remove()
    rows, columns = shape
    white: dict[str, Any] = {"color": "white", "alpha": 0.6, "linewidth": 0, "zorder": 3}
    frame: dict[str, Any] = {"fill": False, "edgecolor": INK, "linewidth": 2.5, "clip_on": False, "zorder": 4}
    for top, height, look in ((0, row, white), (row + 1, rows - row - 1, white), (row, 1, frame)):
        ax.add_patch(Rectangle((0, top), columns, height, gid="highlight", **look))


def _array(
    function: str, name: str, values: Values, axes: tuple[str, ...], boolean: bool = False
) -> NDArray[Any]:
    """`values` as an array with these `axes`, or a `ValueError` that says what to do."""
    dtype = values.dtype if isinstance(values, torch.Tensor) else np.asarray(values).dtype
    if boolean and dtype not in (torch.bool, np.dtype(bool)):
        raise ValueError(f"{function} draws a boolean mask (True = may attend), and this one holds {dtype}.")
    array = np.asarray(values.detach().cpu().double() if isinstance(values, torch.Tensor) else values)
    if array.ndim == len(axes) and array.size > 0:
        return array.astype(bool if boolean else float)
    leading = array.ndim - len(axes)
    advice = f": for a single query hand over {name}[None]" if array.ndim == 1 and array.size > 0 else ""
    if leading > 0:
        what = {"T_q": "one batch element or head", "T_k": "one query", "N": "one row"}[axes[0]]
        where = "axis 0" if leading == 1 else f"the first {leading} axes"
        advice = f": pick {what} on {where}, such as {name}[{', '.join('0' * leading)}]"
    wanted = ", ".join(axes) + ("," if len(axes) == 1 else "")
    raise ValueError(f"{function} draws {name} of shape ({wanted}), not {array.shape}{advice}.")


def _names(argument: str, names: Sequence[str] | None, count: int) -> list[str]:
    """Return what the places of one axis are called: by their numbers where no names are given."""
    if names is not None and len(names) != count:
        raise ValueError(f"{argument} needs a name for each of the {count} places, and has {len(names)}.")
    return [str(name) for name in (range(count) if names is None else names)]


def _draw_grid(ax: Axes, array: NDArray[Any], names: tuple[list[str], list[str]], **options: Any) -> None:
    import seaborn as sns

    gap = 1.5 if _cell_inches(ax, array) >= 0.2 else 0
    hidden = {"xticklabels": False, "yticklabels": False}
    sns.heatmap(array, ax=ax, fmt="", square=True, linewidths=gap, linecolor="white", **hidden, **options)
    ax.set(xlabel="key", ylabel="query")
    _name_ticks(ax, "y", names[0], offset=0.5)
    _name_ticks(ax, "x", names[1], offset=0.5)


def _new_axes(width: float, height: float) -> Axes:
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _grid_axes(array: NDArray[Any], margin: float) -> Axes:
    """Axes of a new figure with square cells, and `margin` beside them for names and a colour bar."""
    cell = min(0.62, 6.5 / max(array.shape))
    rows, columns = array.shape
    return _new_axes(max(2.4, cell * columns) + margin, max(1.0, cell * rows) + 1.2)


def _cell_inches(ax: Axes, array: NDArray[Any]) -> float:
    """The side of a square cell, by what is known before the layout is final."""
    box = ax.get_window_extent()
    return float(min(box.width / array.shape[1], box.height / array.shape[0]) / ax.figure.dpi)


def _limits(array: NDArray[Any]) -> tuple[float, float]:
    """0 to 1, where weights live, unless something is outside."""
    finite = array[np.isfinite(array)]
    if finite.size == 0 or (finite.min() >= 0 and finite.max() <= 1 + 1e-4):
        return 0.0, 1.0
    return min(0.0, float(finite.min())), float(finite.max())


def number_text(value: float) -> str:
    """Two digits; a bare 0 is exactly zero, 0.00 only rounded to it."""
    return "0" if value == 0 else "NaN" if math.isnan(value) else f"{value:.2f}"


def _name_ticks(ax: Axes, side: Literal["x", "y"], names: list[str], offset: float) -> None:
    """Name every place, or every so many of them where that would not stay readable."""
    numbered = names == [str(place) for place in range(len(names))]
    step = math.ceil(len(names) / (16 if numbered else 32))
    places = [place + offset for place in range(0, len(names), step)]
    axis = ax.xaxis if side == "x" else ax.yaxis
    axis.set_ticks(places, names[::step], parse_math=False)  # a token may be a "$"
    ax.tick_params(side, length=0)
    margin = ax.get_window_extent().width / ax.figure.dpi / len(places)
    if side == "x" and 0.075 * max(map(len, names)) + 0.05 > margin:
        plt.setp(ax.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
