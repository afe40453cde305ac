"""`nbjudge report`: what a class has understood of an assignment, as a page, CSV files and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from nbjudge.course.configuration import read_config
from nbjudge.course.folders import CourseFolders
from nbjudge.csv_files import CsvFormat
from nbjudge.report.earlier_classes import changes_in_words, compared, read_earlier
from nbjudge.report.files import current_time, rows_of, write_files
from nbjudge.report.gather import gather
from nbjudge.report.page import render
from nbjudge.report.summary import counts_of, summary
from nbjudge.report.tables import tables_of


def write_report(
    course: CourseFolders,
    folder: str,
    output: Path | None,
    anonymous: bool,
    console: Console,
    compare: Sequence[Path] = (),
    csv_format: CsvFormat | None = None,
) -> tuple[list[str], Path]:
    """Write the report of the assignment in `folder`; returns what is to be said first, and the page's path.

    `anonymous` leaves out who; `compare` names reports of earlier classes; `csv_format` is by default the
    course's. Raises CourseError where nothing is graded, where something cannot be read, and where the report
    cannot be written.
    """
    csv_format = csv_format or CsvFormat.of(read_config(course.root))
    earlier = [read_earlier(path, folder) for path in compare]
    gathered = gather(course, folder, console)
    # A report to be shown has a folder of its own: it must not lie beside files with names.
    own = f"{folder}-anonymous" if anonymous else folder
    with console.status("Drawing the report …"):
        tables = tables_of(gathered, anonymous)
        tables = replace(tables, compared=compared(rows_of(tables), earlier)) if earlier else tables
        changes = list(changes_in_words(tables.compared))
        first, *others = summary(gathered, tables)
        sentences = [first, *changes, *others]
        about = {
            "assignment": folder,
            "made": current_time(),
            "anonymous": anonymous,
            "summary": sentences,
            "points at most": gathered.max_points,
            "counts": asdict(counts_of(gathered)),
        }
        page = render(gathered, tables, about)
        index = write_files(output or course.reports / own, page, tables, about, csv_format)
    return [first, *changes], index
