"""The reshape of multi-head attention as coloured blocks, on the right way and on the tempting wrong one.

A block is what one token holds for one head: D numbers that stay together on both ways. The blocks are
pushed through torch's own view and transpose, so the picture shows what torch does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import ipywidgets as widgets
import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attention_lab.plots import INK, STYLE, colours
from attention_lab.sliders.explorer import FIGURE, FigureBox, step_buttons

_BLOCK, _GAP = (1.5, 0.9), 0.12  # width and height of a block, and the gap between two of them
_NARROWEST = 4  # blocks beside each other: space for the words above and below


@dataclass(frozen=True)
class Step:
    """A step of one of the two ways: what is called, the shape it makes, and what to see in it."""

    call: str
    shape: str
    remark: str


RIGHT = (
    Step("x", "(B, T, E)", "A row per token; its heads are side by side."),
    Step("view(B, T, H, D)", "(B, T, H, D)", "Rows are cut between the heads. Nothing moves."),
    Step("transpose(1, 2)", "(B, H, T, D)", "A row a head, with every token in its place."),
    Step("transpose(1, 2), after attention", "(B, T, H, D)", "A row a token again; memory lags behind."),
    Step("reshape(B, T, H · D)", "(B, T, E)", "Copied into reading order: every row is whole."),
)
WRONG = (
    Step("x", "(B, T, E)", "The same x."),
    Step("view(B, H, T, D)", "(B, H, T, D)", "The shape that was wanted, in a single call."),
    Step("nothing to transpose", "(B, H, T, D)", "No error, yet places marked ✗ hold another's block."),
    Step("nothing to transpose back", "(B, H, T, D)", "Each head has attended over a muddle."),
    Step("view(B, T, H · D)", "(B, T, E)", "All in place again: the round trip hides it."),
)
LAST_STEP = len(RIGHT) - 1


def right_blocks(step: int, length: int, num_heads: int) -> torch.Tensor:
    """Block numbers, token · H + head, on the right way: (T, H) or, while the heads attend, (H, T)."""
    blocks = _blocks(step, length, num_heads)
    if step >= 2:
        blocks = blocks.transpose(0, 1)
    if step >= 3:
        blocks = blocks.contiguous().transpose(0, 1)  # attention has written a tensor of its own
    # Blocks are whole here; of D > 1 numbers each, only a copy can be one row of E for each token.
    return blocks.contiguous() if step == LAST_STEP else blocks


def wrong_blocks(step: int, length: int, num_heads: int) -> torch.Tensor:
    """Block numbers, token · H + head, where `view` alone makes the shape: (H, T) between the ends."""
    blocks = _blocks(step, length, num_heads)
    return blocks.view(num_heads, length) if 0 < step < LAST_STEP else blocks


def _blocks(step: int, length: int, num_heads: int) -> torch.Tensor:
    if length < 1 or num_heads < 1:
        raise ValueError(f"There must be a token and a head at least, not {length} and {num_heads}.")
    if not 0 <= step <= LAST_STEP:
        raise ValueError(f"step must be from 0 to {LAST_STEP}, not {step}.")
    return torch.arange(length * num_heads).view(length, num_heads)


@matplotlib.rc_context(STYLE)
def reshape_figure(step: int, tokens: Sequence[str], *, num_heads: int = 2) -> Figure:
    """Step 0 to 4 of splitting the `tokens` (T names) into heads and merging them, beside the wrong way."""
    sizes = len(tokens), num_heads
    right, wrong = right_blocks(step, *sizes), wrong_blocks(step, *sizes)
    inches = (min(13.0, 3.6 + 1.8 * max(_NARROWEST, *sizes)), 1.9 + 0.52 * max(sizes))
    figure = Figure(inches, **FIGURE)
    halves: tuple[Axes, Axes] = figure.subplots(1, 2)
    for ax, way, blocks, name in (
        (halves[0], RIGHT[step], right, "right"),
        (halves[1], WRONG[step], wrong, "wrong"),
    ):
        _draw_way(ax, way, blocks, tokens, num_heads)
        ax.set_title(f"{name}: {way.call}\n{way.shape}", fontsize=10.5)
    figure.set_label(_sentence(step, right, wrong, tokens, num_heads))
    return figure


def _draw_way(ax: Axes, way: Step, blocks: torch.Tensor, tokens: Sequence[str], num_heads: int) -> None:
    """The blocks in the order of their indices, first axis down, second across; below, as memory has them."""
    sizes = len(tokens), num_heads
    heads_first = way.shape == "(B, H, T, D)"
    gap = 0.0 if way.shape == "(B, T, E)" else _GAP
    width, height = _BLOCK
    total = width * max(_NARROWEST, *sizes)
    heads = [f"head {head}" for head in range(num_heads)]
    down, across = (heads, list(tokens)) if heads_first else (list(tokens), heads)
    for row, name in enumerate(down):
        ax.text(-0.15, (row + 0.5) * height, name, ha="right", va="center", parse_math=False, fontsize=9)
        for column in range(len(across)):
            block = int(blocks[row, column])
            token, head = divmod(block, num_heads)
            here = (column, row) if heads_first else (row, column)
            label = f"{tokens[token]}\nhead {head}" + ("" if here == (token, head) else "  ✗")
            _draw_block(ax, column * width, row * height, (width, height), gap, head, num_heads, label)
    for column, name in enumerate(across if heads_first else []):
        ax.text((column + 0.5) * width, -0.1, name, ha="center", va="bottom", parse_math=False, fontsize=9)
    below, memory = max(sizes) * height + 0.55, blocks.as_strided((blocks.numel(),), (1,)).tolist()
    small = total / len(memory)
    for place, block in enumerate(memory):
        token, head = divmod(block, num_heads)
        label = f"{tokens[token][:3]} {head}" if small >= 0.45 else ""
        _draw_block(ax, place * small, below, (small, 0.55), 0.0, head, num_heads, label)
    ax.text(-0.15, below + 0.27, "memory", ha="right", va="center", parse_math=False, fontsize=9)
    ax.text(0, below + 0.75, way.remark, va="top", parse_math=False, fontsize=9.5)
    ax.set(xlim=(-1.7, total + 0.1), ylim=(below + 1.3, -0.6))
    ax.set_axis_off()


def _draw_block(
    ax: Axes,
    x: float,
    y: float,
    size: tuple[float, float],
    gap: float,
    head: int,
    num_heads: int,
    label: str,
) -> None:
    """A block in its head's colour: heads differ in lightness, and the label says which it is."""
    colour = colours()(0.1 + 0.6 * head / max(1, num_heads - 1))
    light = 0.2126 * colour[0] ** 2.2 + 0.7152 * colour[1] ** 2.2 + 0.0722 * colour[2] ** 2.2
    corner = (x + gap / 2, y + gap / 2)
    ax.add_patch(
        Rectangle(corner, size[0] - gap, size[1] - gap, facecolor=colour, edgecolor="white", linewidth=1.5)
    )
    middle = (x + size[0] / 2, y + size[1] / 2)
    weight = "bold" if "✗" in label else "normal"
    ax.text(
        *middle,
        label,
        ha="center",
        va="center",
        color="white" if light < 0.25 else INK,
        parse_math=False,
        fontsize=8,
        weight=weight,
    )


def _sentence(
    step: int, right: torch.Tensor, wrong: torch.Tensor, tokens: Sequence[str], num_heads: int
) -> str:
    """The figure in words: both ways, and what the first row of each holds."""
    parts = [f"Step {step} of {LAST_STEP}."]
    for name, way, blocks in (("Right", RIGHT[step], right), ("Wrong", WRONG[step], wrong)):
        row = "head 0" if way.shape == "(B, H, T, D)" else f"'{tokens[0]}'"
        held = [f"{tokens[block // num_heads]} {block % num_heads}" for block in blocks[0].tolist()]
        parts.append(
            f"{name}: {way.call}, shape {way.shape}; the row of {row} holds {', '.join(held)}. {way.remark}"
        )
    return " ".join(parts)


def reshape_slider(tokens: Sequence[str], *, num_heads: int = 2) -> widgets.VBox:
    """Walk the `tokens` (T names) through view, transpose, merge, by slider or by buttons."""
    slider = widgets.IntSlider(0, min=0, max=LAST_STEP, description="step")
    controls = [slider, *step_buttons(slider)]
    return FigureBox(partial(reshape_figure, tokens=tokens, num_heads=num_heads), slider, controls=controls)
