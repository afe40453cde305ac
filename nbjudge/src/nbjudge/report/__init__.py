"""`nbjudge report`: what a class has understood of an assignment, as a page, CSV files and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from nbjudge.course.folders import CourseFolders
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.report.earlier_classes import changes_in_words, compared, read_earlier
from nbjudge.report.gather import gather
from nbjudge.report.page import render
from nbjudge.report.tables import Row, Tables, counts_of, summary, tables_of


def write_report(
    course: CourseFolders,
    folder: str,
    output: Path | None,
    anonymous: bool,
    console: Console,
    compare: Sequence[Path],
    csv_format: CsvFormat,
) -> tuple[list[str], Path]:
    """Write the report of the assignment in `folder`; returns what is to be said first, and the page's path.

    `anonymous` leaves out who; `compare` names reports of earlier classes. Raises CourseError where nothing
    is graded, where something cannot be read, and where the report cannot be written.
    """
    earlier = [read_earlier(path, folder) for path in compare]
    gathered = gather(course, folder, console)
    # A report to be shown has a folder of its own: it must not lie beside files with names.
    own = f"{folder}-anonymous" if anonymous else folder
    with console.status("Drawing the report …"):
        tables = tables_of(gathered, anonymous)
        changes = []
        if earlier:
            tables["compared"] = compared(rows_of(tables), earlier)
            changes = list(changes_in_words(tables["compared"]))
        counts = counts_of(gathered)
        first, *others = summary(gathered, counts, tables)
        about = {
            "assignment": folder,
            "made": datetime.now().astimezone().isoformat(timespec="seconds"),
            "anonymous": anonymous,
            "summary": [first, *changes, *others],
            "points at most": gathered.max_points,
            "counts": counts,
        }
        page = render(gathered, tables, about)
        index = write_files(output or course.reports / own, page, tables, about, csv_format)
    return [first, *changes], index


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
        for name, table in tables.items():
            rows = ([row[column] for column in table.columns] for row in table.rows)
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
    return {name: table.rows for name, table in tables.items()}
