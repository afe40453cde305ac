"""Parts of one row of attention, merged block by block: maximum, total and output on their way."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import ipywidgets as widgets
import matplotlib
import torch
from matplotlib.figure import Figure

from attention_lab import plots
from attention_lab.sliders.explorer import FIGURE, explorer, step_buttons

WAITING = "0.88"


@dataclass
class MergedRow:
    """One row of attention over some keys: mean, largest score, sum of exp(score − maximum)."""

    output: float = 0.0
    maximum: float = -math.inf
    total: float = 0.0

    def and_block(self, scores: torch.Tensor, values: torch.Tensor) -> MergedRow:
        """With one block of keys more: scores `(B,)` and values `(B,)`."""
        maximum = max(self.maximum, float(scores.max()))
        old, new = self.total * math.exp(self.maximum - maximum), (scores - maximum).exp()
        total = old + float(new.sum())
        return MergedRow((self.output * old + float(new @ values)) / total, maximum, total)


@matplotlib.rc_context(plots.STYLE)
def merge_stepper(scores: plots.Values, values: plots.Values, *, block_size: int) -> widgets.VBox:
    """Merge a row of scores `(T,)` and values `(T,)` block by block, in one order or another."""
    rows = [torch.as_tensor(row).detach().double() for row in (scores, values)]
    if any(row.dim() != 1 or row.shape != rows[0].shape for row in rows) or not 1 <= block_size < len(
        rows[0]
    ):
        shapes = " and ".join(str(tuple(row.shape)) for row in rows)
        raise ValueError(
            f"scores and values must be rows (T,) of one length, with blocks of 1 to T - 1, not {shapes} "
            f"with blocks of {block_size}."
        )
    blocks = list(zip(*(row.split(block_size) for row in rows), strict=True))
    every = list(range(len(blocks)))
    # In their order, backwards, and every other block first.
    orders = itertools.cycle([every, every[::-1], every[1::2] + every[0::2]])
    order = next(orders)
    figure = Figure((9.0, 3.4), **FIGURE)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    left.set(title="scores, in blocks", ylim=(min(0.0, float(rows[0].min())), 1.25 * float(rows[0].max())))
    places = [index + index // block_size for index in range(len(rows[0]))]  # a gap behind each block
    bars = left.bar(places, rows[0].tolist(), edgecolor="black", linewidth=0.8)
    starts = range(0, len(places), block_size)
    middles = [sum(some := places[first : first + block_size]) / len(some) for first in starts]
    left.set_xticks(places, [f"{value:g}" for value in rows[1].tolist()])
    left.set_xticks(middles, [f"block {number}" for number in range(len(blocks))], minor=True)
    left.tick_params(axis="x", which="both", length=0)
    left.tick_params(axis="x", which="minor", pad=18)
    left.set_xlabel("under each bar its key's value")
    line = left.axhline(0.0, color=plots.ACCENT, linestyle="--")
    right.set_axis_off()
    names = ("maximum", "total", "output")
    for place, name in enumerate(names):
        right.text(0.1, 0.8 - 0.3 * place, name, fontsize=12)
    numbers = [right.text(0.95, 0.8 - 0.3 * place, "", fontsize=14, ha="right") for place in range(3)]

    def show(value: float) -> str:
        step, merged, sentence = int(value), MergedRow(), "No block is merged yet."
        for number in order[:step]:
            before, merged = merged, merged.and_block(*blocks[number])
            sentence = _in_words(number, before, merged)
        for index, bar in enumerate(bars):
            number = index // block_size
            seen, newest = number in order[:step], step > 0 and number == order[step - 1]
            bar.set_facecolor(plots.ACCENT if newest else plots.PALE if seen else WAITING)
            bar.set_hatch("//" if seen and not newest else "")
        line.set_ydata([merged.maximum] * 2)
        line.set_visible(step > 0)
        for text, result in zip(numbers, (merged.maximum, merged.total, merged.output), strict=True):
            text.set_text(f"{result:.3f}")  # before the first block -inf, 0 and 0
        left_over = ", ".join(map(str, order[step:]))
        return sentence + (f" Still to come: {left_over}." if left_over else " That is all of them.")

    slider = widgets.IntSlider(0, min=0, max=len(blocks), description="blocks merged")
    another = widgets.Button(description="Other order", icon="random", layout={"width": "9em"})

    def begin_again(_: widgets.Button) -> None:
        nonlocal order
        order = next(orders)
        slider.value = slider.max  # so that it moves, whatever its value was
        slider.value = slider.min

    another.on_click(begin_again)
    return explorer(figure, show, (*bars, line, *numbers), slider, *step_buttons(slider), another)


def _in_words(number: int, before: MergedRow, after: MergedRow) -> str:
    now = f"Maximum {after.maximum:.3f}, total {after.total:.3f}, output {after.output:.3f}."
    if before.total == 0:
        return f"Block {number} is the first. {now}"
    if after.maximum > before.maximum:
        factor = math.exp(before.maximum - after.maximum)
        return (
            f"Block {number} has a larger score: the old total {before.total:.3f} is multiplied by "
            f"exp({before.maximum:.3f} − {after.maximum:.3f}) = {factor:.3f}. {now}"
        )
    return f"Block {number} has no larger score: the old total stays, the new block's shrinks. {now}"
