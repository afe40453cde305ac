"""The report's files: a page, and beside it every table as CSV and everything as JSON."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.report.table import Row, Table
from nbjudge.report.tables import Tables

# What a spreadsheet takes for a formula, the wide forms of Chinese and Japanese keyboards included.
FORMULA = re.compile(r"^[\s'\"]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
# The same where a spreadsheet separates fields by something else than commas, and quotes do not help.
INNER_FORMULA = re.compile(r"([;\t|][\s'\"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
# Only a report with names writes it, so it tells whose folder this is.
STUDENTS_FILE = "students.csv"


def write_files(folder: Path, page: str, tables: Tables, about: dict[str, Any]) -> Path:
    """Write index.html, the CSV files and report.json; returns the page's path.

    Raises CourseError where they cannot be written, and where a report without names would come to
    lie beside files with names.
    """
    try:
        if about["anonymous"] and (folder / STUDENTS_FILE).exists():
            raise CourseError(
                f"{folder} holds a report with names ({STUDENTS_FILE}): give one that is to be shown another "
                "folder, with --output, or remove that one."
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.named().items():
            _write_csv(folder / f"{name}.csv", table)
        everything = about | {"tables": rows_of(tables)}
        text = json.dumps(everything, ensure_ascii=False, indent=1, allow_nan=False)
        (folder / "report.json").write_text(text + "\n", encoding="utf-8")
        index = folder / "index.html"
        index.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CourseError(
            f"The report cannot be written: {error.filename or folder}: {error.strerror}. "
            "Make room or give another folder, with --output."
        ) from error
    return index


def rows_of(tables: Tables) -> dict[str, list[Row]]:
    """The rows of every table, as report.json has them."""
    return {name: table.rows for name, table in tables.named().items()}


def current_time() -> str:
    """The time of a report, with the offset of the clock that says so."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _write_csv(path: Path, table: Table) -> None:
    # With a byte-order mark: without it Excel takes accents for something else.
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(map(_field, table.columns))
        writer.writerows([_field(row[name]) for name in table.columns] for row in table.rows)


def _field(value: Any) -> Any:
    """A field that every spreadsheet takes for text, where it is text."""
    if isinstance(value, list):
        value = "; ".join(value)
    if isinstance(value, float):
        return round(value, 6)
    if not isinstance(value, str):
        return value
    value = INNER_FORMULA.sub(r"\1'", value)
    return f"'{value}" if FORMULA.match(value) else value
