"""The class's scores as a table for a spreadsheet, in the separator and decimal sign that it expects."""

from __future__ import annotations

from typing import Any

from nbjudge.csv_files import CsvFormat, identifier
from nbjudge.errors import CourseError, ExportError
from nbjudge.exports.learning_platform import PlatformExporter
from nbjudge.settings import SpreadsheetSettings

HEADINGS = ("Student", "Last name", "First name", "Email address")


class SpreadsheetExporter(SpreadsheetSettings, PlatformExporter):
    """`nbgrader export --exporter=nbjudge.exports.spreadsheet.SpreadsheetExporter --to scores.csv`.

    One row for each student and one column for each assignment, written as `c.CsvFiles` says or, on the
    command line, `--CsvFiles.separator=semicolon --CsvFiles.decimal=comma`.
    """

    default_file = "scores.csv"

    def csv_format(self) -> CsvFormat:
        """The course's format. Raises ExportError, with a sentence, for an unknown setting or value."""
        try:
            return CsvFormat.of(self.config)
        except CourseError as error:
            raise ExportError(f"Nothing was exported: {error}") from error

    def header_rows(self, assignments: list[Any]) -> list[list[Any]]:
        """The headings."""
        return [[*HEADINGS, *map(self.column, assignments)]]

    def who(self, student: Any) -> list[str]:
        """The student's id, name and address."""
        return [
            identifier(student.id),
            student.last_name or "",
            student.first_name or "",
            self.field(student, "email"),
        ]
