"""The report's files: a page, and beside it every table as CSV and everything as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.report.table_type import Row
from nbjudge.report.tables import Tables

# Only a report with names writes it, so it tells whose folder this is.
STUDENTS_FILE = "students.csv"


def write_files(
    folder: Path, page: str, tables: Tables, about: dict[str, Any], csv_format: CsvFormat
) -> Path:
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
            rows = ([row[name] for name in table.columns] for row in table.rows)
            text = csv_format.text([table.columns, *rows])
            (folder / f"{name}.csv").write_bytes(text.encode("utf-8", "replace"))
        everything = about | {"tables": rows_of(tables)}
        text = json.dumps(everything, ensure_ascii=False, indent=1, allow_nan=False)
        (folder / "report.json").write_text(text + "\n", encoding="utf-8")
        index = folder / "index.html"
        index.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CourseError(
            f"The report cannot be written: {error.filename or folder}: {error.strerror}. "
            "Free some space or name another folder with --output."
        ) from error
    return index


def rows_of(tables: Tables) -> dict[str, list[Row]]:
    """The rows of every table, as report.json has them."""
    return {name: table.rows for name, table in tables.named().items()}


def current_time() -> str:
    """The time of a report, with the offset of the clock that says so."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
