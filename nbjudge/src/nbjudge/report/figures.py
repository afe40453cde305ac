"""The report's pictures as plain data: what the templates in `templates/figures` draw as SVG.

Lengths are in percent, so that a picture fits a phone, a screen and a sheet of paper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from nbjudge.report.table_type import Row, Table

MOST_MISTAKES = 12
MOST_EXERCISES = 25
MOST_TICKS = 8  # of an axis from left to right: more do not fit a phone
MOST_COUNTS = 5  # of the axis that counts students
HALF_A_POINT = 0.5  # the least width of a bar, so that 4.5 points are at 4.5
NARROWEST = 3.0  # percent of a bar that a digit needs
MOST_BARS = 40  # of a histogram


@dataclass(frozen=True)
class Tick:
    """A number on an axis, and where: in percent of the axis's length."""

    label: str
    at: float


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: the place that it stands for, how many lie there, and its box in percent."""

    place: str
    count: int
    left: float
    width: float
    height: float


@dataclass(frozen=True)
class Histogram:
    """How many students lie where. `median` is the tick of the line that is drawn there."""

    title: str
    description: str
    unit: str  # what the axis from left to right shows
    nearest: str  # the distance of two bars
    bars: tuple[Bar, ...]
    places: tuple[Tick, ...]
    counts: tuple[Tick, ...]
    median: Tick


@dataclass(frozen=True)
class Part:
    """A part of a horizontal bar: its kind, its count, and its box in percent."""

    kind: str
    count: int
    left: float
    width: float

    @property
    def holds_its_number(self) -> bool:
        """Whether the number fits, on a phone too."""
        return self.width >= NARROWEST * (1 + len(str(self.count)))


@dataclass(frozen=True)
class Line:
    """One horizontal bar, under or beside its name. `context` is a second name, for what the first is in."""

    name: str
    context: str
    description: str  # the bar in words
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Bars:
    """Bars that lie, one for each exercise or mistake, with an axis below; `note` says what is left out."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    places: tuple[Tick, ...]
    note: str = ""


def points_histogram(points: Sequence[float], max_points: float) -> Histogram:
    """How many students have how many points."""
    highest = max(max_points, *points)
    return _histogram(
        "Points", f"points, of {max_points:g}", "points", points, bins(points, highest, HALF_A_POINT)
    )


def seconds_histogram(seconds: Sequence[float]) -> Histogram:
    """How long grading took."""
    counted = bins(seconds, max(seconds))
    return _histogram("Time for one submission", "seconds for one submission", "seconds", seconds, counted)


def exercise_bars(exercises: Table) -> Bars | None:
    """Of each exercise how many students have all, some and none of its points; None before any is marked."""
    marked = [row for row in exercises.rows if _marked(row)]
    if not marked:
        return None
    # If there are too many to read, those that cost most are shown, in the assignment's order.
    costly = sorted(marked, key=lambda row: row["full"] / _marked(row))[:MOST_EXERCISES]
    shown = [row for row in marked if row in costly]
    note = f"The {len(shown)} of {len(marked)} with the fewest full marks."
    return Bars(
        title="For each exercise, how many students have all, some and none of its points",
        unit="share of the students (numbers: how many)",
        lines=tuple(_shares(row) for row in shown),
        places=tuple(Tick(f"{share}%", share) for share in range(0, 101, 25)),
        note=note if len(shown) < len(marked) else "",
    )


def mistake_bars(mistakes: Table) -> Bars | None:
    """The most frequent named mistakes and how many made them; those of one student stay in the table."""
    shown = [row for row in mistakes.rows if row["students"] > 1][:MOST_MISTAKES]
    if not shown:
        return None
    rest = len(mistakes.rows) - len(shown)
    # Space for the number behind the longest bar.
    highest = 1.12 * shown[0]["students"]
    return Bars(
        title="The named mistakes, and how many students made them",
        unit="students",
        lines=tuple(
            Line(
                name=row["mistake"],
                context=row["exercise"],
                description=f"{row['students']} of {row['of']} students",
                parts=(Part("count", row["students"], 0.0, percent(row["students"], 0, highest)),),
            )
            for row in shown
        ),
        places=tuple(ticks(0, highest, MOST_TICKS, whole=True)),
        note=f"The most frequent; {rest} more {'is' if rest == 1 else 'are'} in the table." if rest else "",
    )


def _histogram(
    title: str, axis: str, unit: str, values: Sequence[float], counted: tuple[dict[float, int], float]
) -> Histogram:
    heights, width = counted
    # The axis begins before 0, where many are.
    low, high = -width, max(heights) + width
    top = max(heights.values())
    middle = median(values)
    fullest = max(heights, key=lambda place: heights[place])
    return Histogram(
        title=title,
        description=(
            f"Histogram of the {unit} of {len(values)} students: from {_short(min(values))} "
            f"to {_short(max(values))}, median {_short(middle)}; most, {top}, have about {_short(fullest)}."
        ),
        unit=axis,
        nearest=f"{width:g}",
        bars=tuple(
            Bar(
                place=f"{place:.10g}",
                count=count,
                left=percent(place - 0.46 * width, low, high),
                width=percent(0.92 * width, 0, high - low),
                height=percent(count, 0, top),
            )
            for place, count in heights.items()
            if count
        ),
        places=tuple(ticks(low, high, MOST_TICKS)),
        counts=tuple(ticks(0, top, MOST_COUNTS, whole=True)),
        median=Tick(_short(middle), percent(middle, low, high)),
    )


def _shares(row: Row) -> Line:
    """The bar of one exercise: its parts fill it."""
    all_of_them, left, parts = _marked(row), 0, []
    for kind in ("full", "part", "none"):
        if row[kind]:
            start, end = percent(left, 0, all_of_them), percent(left + row[kind], 0, all_of_them)
            parts.append(Part(kind, row[kind], start, round(end - start, 3)))
        left += row[kind]
    description = f"all points {row['full']}, some {row['part']}, none {row['none']}"
    return Line(name=row["exercise"], context="", description=description, parts=tuple(parts))


def _marked(row: Row) -> int:
    """How many answers to an exercise have their points."""
    return int(row["full"] + row["part"] + row["none"])


def _short(number: float) -> str:
    return f"{round(number, 2):g}"


def bins(values: Sequence[float], highest: float, finest: float = 0) -> tuple[dict[float, int], float]:
    """How many values lie around each of evenly spaced places from 0 to `highest`, and their distance.

    The distance is 1, 2 or 5 times a power of ten, and no smaller than `finest`, which is one of these.
    """
    width = max(round_up(highest / MOST_BARS), finest)
    steps = Counter(math.floor(value / width + 0.5) for value in values)
    last = max(*steps, math.floor(highest / width + 0.5))
    return {step * width: steps[step] for step in range(last + 1)}, width


def ticks(low: float, high: float, limit: int, whole: bool = False) -> list[Tick]:
    """Ticks at round numbers from 0 to `high` on an axis that begins at `low`, 0 and `limit` at the most.

    `whole` keeps to whole numbers: there is no half student.
    """
    step = round_up(high / limit)
    if whole:
        step = max(1.0, step)
    count = math.floor(high / step * (1 + 1e-9))
    return [Tick(f"{place * step:.10g}", percent(place * step, low, high)) for place in range(count + 1)]


def percent(place: float, low: float, high: float) -> float:
    """The position of a value between two others, in percent."""
    return round(100 * (place - low) / (high - low), 3)


def round_up(width: float) -> float:
    """The next of …, 0.5, 1, 2, 5, 10, …"""
    if width < 1e-9:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))
