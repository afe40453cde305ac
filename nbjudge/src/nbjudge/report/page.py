"""The page: one HTML file with its figure, its style and its script in it."""

from __future__ import annotations

import hashlib
import html
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from statistics import median
from typing import Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nbjudge.plain_text import sentence_as_html
from nbjudge.report.gather import ClassResults
from nbjudge.report.tables import Row, Tables, exercise_columns, failure_kinds

TEMPLATES = "templates"  # the folder beside this file
BESIDES = ("late", "seconds", "to mark", "failures")


def render(assignment: ClassResults, tables: Tables, about: dict[str, Any]) -> str:
    """The whole page as text. Names, ids and messages are shown as text, never as markup."""
    environment = page_environment("nbjudge.report")
    missing: dict[str, list[Row]] = {"remarks": [], "students": [], "compared": []}
    rows = missing | {name: table.rows for name, table in tables.items()}
    max_points = [row["points"] for row in rows["exercises"]]
    return environment.get_template("page.html.j2").render(
        about=about,
        points=points_histogram([each.points for each in assignment.graded], assignment.max_points),
        cells=dict(zip(exercise_columns(assignment).values(), max_points, strict=True)),
        # Columns that are not empty; the files have all columns.
        besides=[name for name in BESIDES if any(row[name] for row in rows["students"])],
        failure_kinds=failure_kinds(assignment).rows,
        files=[f"{name}.csv" for name in tables],
        **script_and_style(),
        **rows,
    )


def page_environment(package: str) -> Environment:
    """The environment of a package's templates, which may import the report's."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each, TEMPLATES) for each in (package, "nbjudge.report")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "number": _number,
        "code": with_code,
        "name": lambda name: Markup(_code(html.escape(name))),
        "percent": "{:.0%}".format,
        "shade": _shade,
        "digest": _digest,
    }
    return environment


def script_and_style(more: str = "") -> dict[str, Markup]:
    """The style and the script of a page; nothing else may have an effect, and nothing may be fetched.

    `more` is CSS of the page's own.
    """
    folder = files("nbjudge.report") / TEMPLATES
    return {
        "style": Markup((folder / "page.css").read_text(encoding="utf-8") + more),
        "script": Markup((folder / "sort.js").read_text(encoding="utf-8")),
    }


def with_code(sentence: str) -> Markup:
    """The sentence as HTML, with the parts in backticks as code."""
    return Markup(sentence_as_html(sentence, _code))


def _code(escaped: str) -> str:
    """With places to break a long name at."""
    return f"<code>{escaped.replace('_', '_<wbr>')}</code>"


def _digest(text: str) -> str:
    """As a content security policy names a text."""
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _number(value: Any) -> str:
    """At most two digits behind the point; nothing where there is no number."""
    return "" if value is None else f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"


def _shade(points: float | None, max_points: float) -> str:
    """The class of a cell by the points that are missing."""
    if points is None or points >= max_points:
        return ""
    return "most" if points <= 0 else "more" if points <= max_points / 2 else "some"


# The histogram of points as plain data, which `templates/figures` draws as SVG. Lengths are in percent, so
# that it fits a phone, a screen and a sheet of paper.
MOST_TICKS = 8  # of an axis from left to right: more do not fit a phone
MOST_COUNTS = 5  # of the axis that counts students
HALF_A_POINT = 0.5  # the least width of a bar, so that 4.5 points are at 4.5
MOST_BARS = 40  # of a histogram


class Tick(NamedTuple):
    """A number on an axis, and where: in percent of the axis's length."""

    label: str
    at: float


class Bar(NamedTuple):
    """A bar of a histogram: the place that it stands for, how many lie there, and its box in percent."""

    place: str
    students: int
    left: float
    width: float
    height: float


class Histogram(NamedTuple):
    """The number of students by points. `median` is the tick of the line that is drawn there."""

    description: str
    unit: str  # what the axis from left to right shows
    nearest: str  # the distance of two bars
    bars: list[Bar]
    places: list[Tick]
    counts: list[Tick]
    median: Tick


def points_histogram(points: Sequence[float], max_points: float) -> Histogram:
    """Return how many students have how many points."""
    heights, width = bins(points, max(max_points, *points), HALF_A_POINT)
    # The axis begins before 0, where many are.
    low, high = -width, max(heights) + width
    top, middle = max(heights.values()), median(points)
    fullest = max(heights, key=lambda place: heights[place])
    bars = [
        Bar(
            f"{place:.10g}",
            count,
            percent(place - 0.46 * width, low, high),
            percent(0.92 * width, 0, high - low),
            percent(count, 0, top),
        )
        for place, count in heights.items()
        if count
    ]
    description = (
        f"Histogram of the points of {len(points)} students: from {_number(min(points))} to "
        f"{_number(max(points))}, median {_number(middle)}; most, {top}, have about {_number(fullest)}."
    )
    across, up = ticks(low, high, MOST_TICKS), ticks(0, top, MOST_COUNTS, whole=True)
    line = Tick(_number(middle), percent(middle, low, high))
    return Histogram(description, f"points, of {max_points:g}", f"{width:g}", bars, across, up, line)


def bins(values: Sequence[float], highest: float, finest: float) -> tuple[dict[float, int], float]:
    """Return how many values lie around each of evenly spaced places from 0 to `highest`, and their distance.

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
