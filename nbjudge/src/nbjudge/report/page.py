"""The page: one HTML file with its figures, its style and its script in it."""

from __future__ import annotations

import hashlib
import html
from base64 import b64encode
from importlib.resources import files
from statistics import median
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nbjudge.plain_text import sentence_as_html
from nbjudge.report.figures import (
    Bars,
    Histogram,
    exercise_bars,
    mistake_bars,
    points_histogram,
    seconds_histogram,
)
from nbjudge.report.gather import ClassResults
from nbjudge.report.summary import counts_of
from nbjudge.report.table_type import Table
from nbjudge.report.tables import Tables, exercise_columns, failure_kinds

TEMPLATES = "templates"  # the folder beside this file


def render(assignment: ClassResults, tables: Tables, about: dict[str, Any]) -> str:
    """The whole page as text. Names, ids and messages are shown as text, never as markup."""
    environment = Environment(
        loader=PackageLoader("nbjudge.report", TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "number": _number,
        "code": with_code,
        "name": name_as_code,
        "percent": _percent,
        "seconds": _duration,
        "shade": _shade,
    }
    style, script = _part("page.css"), _part("sort.js")
    return environment.get_template("page.html.j2").render(
        about=about,
        assignment=assignment,
        counts=counts_of(assignment),
        figures=_figures(assignment, tables),
        seconds=_seconds(assignment, about["anonymous"]),
        cells=_most_points(assignment, tables.exercises),
        besides=_besides(tables.students),
        failure_kinds=failure_kinds(assignment).rows,
        style=Markup(style),
        script=Markup(script),
        # Nothing but this very style and script may have an effect, and nothing may be fetched.
        digests={"style": _digest(style), "script": _digest(script)},
        files=[f"{name}.csv" for name in tables.named()],
        **{name: table.rows for name, table in vars(tables).items()},
    )


def with_code(sentence: str) -> Markup:
    """The sentence as HTML, with the parts in backticks as code."""
    return Markup(sentence_as_html(sentence, _code))


def name_as_code(name: str) -> Markup:
    """A name of a program's."""
    return Markup(_code(html.escape(name)))


def _code(escaped: str) -> str:
    """With places to break a long name at."""
    return f"<code>{escaped.replace('_', '_<wbr>')}</code>"


def _figures(assignment: ClassResults, tables: Tables) -> dict[str, Histogram | Bars | None]:
    """The figures by name; None where there is nothing to show."""
    seconds = [each.seconds for each in assignment.graded if each.seconds is not None]
    return {
        "points": points_histogram([each.points for each in assignment.graded], assignment.max_points),
        "exercises": exercise_bars(tables.exercises),
        "mistakes": mistake_bars(tables.mistakes),
        "seconds": seconds_histogram(seconds) if seconds else None,
    }


def _most_points(assignment: ClassResults, exercises: Table) -> dict[str, float]:
    """What there is to gain, by the exercises' columns in the table of students."""
    names = exercise_columns(assignment).values()
    return {name: row["points"] for name, row in zip(names, exercises.rows, strict=True)}


def _besides(students: Table) -> list[str]:
    """The columns besides the points that are not empty; the files have all columns."""
    names = ("late penalty", "seconds", "to mark", "failures")
    return [name for name in names if any(row[name] for row in students.rows)]


def _seconds(assignment: ClassResults, anonymous: bool) -> dict[str, Any] | None:
    """What is said of the time that grading took."""
    known = [(each.seconds, each.student) for each in assignment.graded if each.seconds is not None]
    if not known:
        return None
    times = [seconds for seconds, _ in known]
    slowest = sorted(known, reverse=True)[:5]
    return {
        "count": len(known),
        "median": median(times),
        "most": max(times),
        "total": sum(times),
        "slowest": [] if anonymous else [{"student": who, "seconds": time} for time, who in slowest],
    }


def _part(name: str) -> str:
    return (files("nbjudge.report") / TEMPLATES / name).read_text(encoding="utf-8")


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


def _duration(seconds: float) -> str:
    """As a person would say it."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{seconds:.0f} s" if minutes < 5 else f"{minutes:.0f} min" if hours < 3 else f"{hours:.0f} h"


def _percent(value: Any) -> str:
    return "" if value is None else f"{value:.0%}"
