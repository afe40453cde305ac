"""Moodle: the CSV file that *Grades → Import → CSV file* takes.

One column says whose row it is, the others are grade items, and one more for each may hold a comment:
https://docs.moodle.org/en/Grade_import
How the importer reads them (a student is found by id number, e-mail address or user name, a row without a
student stops the import, and `-` is no grade):
https://github.com/moodle/moodle/blob/main/grade/import/csv/classes/load_data.php
"""

from __future__ import annotations

from typing import Any

from nbjudge.csv_files import PLATFORM, Verbatim
from nbjudge.errors import ExportError
from nbjudge.exports.learning_platform import Grade, PlatformExporter
from nbjudge.settings import MOODLE_FIELDS, MoodleSettings


class MoodleExporter(MoodleSettings, PlatformExporter):
    """`nbgrader export --exporter=nbjudge.exports.moodle.MoodleExporter --to grades.csv`.

    Moodle asks what each column is when the file is uploaded. Give `columns` the names that its own
    export has, such as `Assignment: Dot products`, and it proposes the right ones.
    """

    default_file = "moodle.csv"
    csv_format = PLATFORM
    no_score = Verbatim("-")  # an empty cell of a new grade item would be 0

    def header_rows(self, assignments: list[Any]) -> list[list[Any]]:
        """The headings."""
        columns = [self.column(assignment) for assignment in assignments]
        if self.comments:
            columns = [heading for name in columns for heading in (name, f"{name} (feedback)")]
        return [[MOODLE_FIELDS[self.identify_by], "First name", "Last name", *columns]]

    def who(self, student: Any) -> list[str]:
        """Return what identifies the student, and the name for people."""
        name = self.student_field or ("email" if self.identify_by == "email" else "id")
        found = self.field(student, name)
        if not found:
            raise ExportError(
                f"Nothing was exported: student {student.id!r} has no {name}, by which Moodle is to "
                "find them, and it takes no file with a row without a student. Enter it with "
                "`nbgrader db student add`, or set `MoodleExporter.identify_by`."
            )
        return [found, student.first_name or "", student.last_name or ""]

    def cells(self, grades: list[Grade]) -> list[Any]:
        """A score an assignment, each with its comment where comments are asked for."""
        scores = super().cells(grades)
        if not self.comments:
            return scores
        comments = (" ".join(grade.comments) for grade in grades)
        return [cell for pair in zip(scores, comments, strict=True) for cell in pair]
