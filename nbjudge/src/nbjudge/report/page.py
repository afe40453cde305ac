"""The page: one HTML file with its pictures, its style and its script in it."""

from __future__ import annotations

import hashlib
import html
import re
from base64 import b64encode
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from nbjudge.report import figures
from nbjudge.report.figures import Picture
from nbjudge.report.files import table_rows
from nbjudge.report.gather import LessonClass
from nbjudge.report.summary import counts_of
from nbjudge.report.tables import Tables, failure_kinds

PARTS = files("nbjudge.report")


@dataclass(frozen=True)
class Pictures:
    """Those for which there is something to show."""

    points: Picture
    exercises: Picture | None
    mistakes: Picture | None
    seconds: Picture | None


def render(lesson: LessonClass, tables: Tables, about: dict[str, Any]) -> str:
    """The whole page as text. Whatever stands in names, ids and messages is shown, never obeyed."""
    script = _part("sort.js")
    # Nothing but this very script may run, and nothing may be fetched.
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "number": _number,
        "code": with_code,
        "name": name_as_code,
        "percent": _percent,
        "seconds": _duration,
    }
    return environment.from_string(_part("page.html.j2")).render(
        about=about,
        lesson=lesson,
        counts=counts_of(lesson),
        pictures=_pictures(lesson, tables),
        seconds=_seconds(lesson, about["anonymous"]),
        cells=list(lesson.cells.values()),
        failure_kinds=table_rows(failure_kinds(lesson)),
        style=Markup(_part("page.css")),
        script=Markup(script),
        digest=digest,
        files=[f"{name}.csv" for name in tables.named()],
        **{name: table_rows(table) for name, table in vars(tables).items()},
    )


def with_code(sentence: str) -> Markup:
    """The sentence, with what stands between backticks set as code."""
    return Markup(re.sub(r"`([^`]+)`", lambda found: _code(found[1]), html.escape(sentence)))


def name_as_code(name: str) -> Markup:
    """A name of a program's."""
    return Markup(_code(html.escape(name)))


def _code(escaped: str) -> str:
    """With places to break a long name at."""
    return f"<code>{escaped.replace('_', '_<wbr>')}</code>"


def _pictures(lesson: LessonClass, tables: Tables) -> Pictures:
    seconds = [each.seconds for each in lesson.graded if each.seconds is not None]
    shared = (tables.mistakes["students"] > 1).any()
    marked = tables.exercises[["full", "part", "none"]].to_numpy().sum() > 0
    return Pictures(
        points=figures.points_histogram([each.points for each in lesson.graded], lesson.max_points),
        exercises=figures.exercise_bars(tables.exercises) if marked else None,
        mistakes=figures.mistake_bars(tables.mistakes) if shared else None,
        seconds=figures.seconds_histogram(seconds) if seconds else None,
    )


def _seconds(lesson: LessonClass, anonymous: bool) -> dict[str, Any] | None:
    """What is said of the time that grading took."""
    known = [(each.seconds, each.student) for each in lesson.graded if each.seconds is not None]
    if not known:
        return None
    times = pd.Series([seconds for seconds, _ in known])
    slowest = sorted(known, reverse=True)[:5]
    return {
        "count": len(known),
        "median": float(times.median()),
        "most": float(times.max()),
        "total": float(times.sum()),
        "slowest": [] if anonymous else [{"student": who, "seconds": time} for time, who in slowest],
    }


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _number(value: Any) -> str:
    """At most two digits behind the point; nothing where there is no number."""
    return "" if value is None else f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"


def _duration(seconds: float) -> str:
    """As a person would say it."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{seconds:.0f} s" if minutes < 5 else f"{minutes:.0f} min" if hours < 3 else f"{hours:.0f} h"


def _percent(value: Any) -> str:
    return "" if value is None else f"{value:.0%}"
