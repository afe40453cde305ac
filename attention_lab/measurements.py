"""Tables of what was measured before, for the lessons: each with the program that makes it again."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd


def stored_table(lesson: str, name: str) -> pd.DataFrame:
    """Return a stored table of a lesson, with its program as the caption.

    Parameters
    ----------
    lesson
        The lesson's number, as in ``"08"``.
    name
        One of the tables in ``attention_lab.lesson_08.measured.TABLES``.

    Returns
    -------
    pandas.DataFrame
        A row for each measurement. ``.attrs["made_by"]`` names the command that measures it again.

    Raises
    ------
    ValueError
        If the lesson has no such table; the message lists those that it has.
    """
    file = Path(__file__).with_name(f"lesson_{lesson}") / "measured.json"
    tables = json.loads(file.read_text()) if file.exists() else {}
    if name not in tables:
        there = ", ".join(tables) or "none"
        raise ValueError(f"Lesson {lesson} has no stored table {name!r}: it has {there}.")
    table = pd.DataFrame(tables[name])
    table.attrs["made_by"] = f"python benchmarks/lesson_numbers.py {lesson}"
    return table
