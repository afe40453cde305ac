"""Where things lie on a picture's axes: bins for a histogram, ticks at round numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MOST_BARS = 40  # of a histogram


@dataclass(frozen=True)
class Tick:
    """A number on an axis, and where: in percent of the axis's length."""

    label: str
    at: float


def bins(values: Sequence[float], highest: float, finest: float = 0) -> tuple[dict[float, int], float]:
    """How many values lie around each of evenly spaced places from 0 to `highest`, and their distance.

    The distance is 1, 2 or 5 times a power of ten, and no smaller than `finest`, which is one of these.
    """
    width = max(round_up(highest / MOST_BARS), finest)
    steps = Counter(math.floor(value / width + 0.5) for value in values)
    last = max(*steps, math.floor(highest / width + 0.5))
    return {step * width: steps[step] for step in range(last + 1)}, width


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[Tick]:
    """Ticks at round numbers from 0 to `high` on an axis that begins at `low`, `most` and 0 at the most.

    `whole` keeps to whole numbers: there is no half student.
    """
    step = round_up(high / most)
    if whole:
        step = max(1.0, step)
    count = math.floor(high / step * (1 + 1e-9))
    return [Tick(f"{place * step:.10g}", percent(place * step, low, high)) for place in range(count + 1)]


def percent(place: float, low: float, high: float) -> float:
    """Where a place lies between two others, in percent."""
    return round(100 * (place - low) / (high - low), 3)


def round_up(width: float) -> float:
    """The next of …, 0.5, 1, 2, 5, 10, …"""
    if width < 1e-9:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))
