"""Canvas: the CSV file that *Grades → Import* takes.

The columns, their order and the row of possible points are those that Canvas exports and documents:
https://community.canvaslms.com/t5/Instructor-Guide/How-do-I-import-grades-in-the-Gradebook/ta-p/807
How the importer reads them: a student is found by ID, then SIS User ID, then SIS Login ID, then by name;
a column by the number in brackets, then by its title; one that it does not find becomes a new assignment:
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb
"""

from __future__ import annotations

import re
from typing import Any

from nbjudge.csv_files import PLATFORM
from nbjudge.exports.learning_platform import PlatformExporter, round_score
from nbjudge.settings import CanvasSettings

STUDENT_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
# Columns whose headings hold one of these are taken for Canvas's own sums.
CALCULATED = re.compile(r"(Current|Final|Override) (Score|Points|Grade)|Override Status")
NOT_READ = "Canvas does not read a column %r, whose heading is like one of its own: see c.%s.columns."
NAMESAKES = (
    "%s: two students have this name and no number of Canvas's, so that Canvas may take one for the other. "
    "Enter the numbers with `nbgrader db student add ID --lms-user-id NUMBER`."
)


class CanvasExporter(CanvasSettings, PlatformExporter):
    """`nbgrader export --exporter=nbjudge.exports.canvas.CanvasExporter --to grades.csv`.

    Give `columns` the headings that Canvas itself exports, such as `Dot products (1234)`, so that an
    assignment is found and not made a second time.
    """

    default_file = "canvas.csv"
    csv_format = PLATFORM

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._names_without_id = set[str]()

    def header_rows(self, assignments: list[Any]) -> list[list[Any]]:
        """The headings, and the row of possible points below them."""
        for heading in map(self.column, assignments):
            if CALCULATED.search(heading):
                self.log.warning(NOT_READ, heading, type(self).__name__)
        possible = ["Points Possible", *[""] * (len(STUDENT_COLUMNS) - 1)]
        return [
            [*STUDENT_COLUMNS, *map(self.column, assignments)],
            [*possible, *(round_score(float(assignment.max_score)) for assignment in assignments)],
        ]

    def who(self, student: Any) -> list[str]:
        """Name, the three ids and the section; the name as Canvas sorts it, or the id where there is none."""
        name = ", ".join(part for part in (student.last_name, student.first_name) if part)
        number = self.field(student, self.canvas_id).strip()
        if number and not (number.isascii() and number.isdecimal()):
            # Canvas would read the digits that it begins with, and take another student for this one.
            self.log.warning("%s: %r is no number of Canvas's, and was left out.", student.id, number)
            number = ""
        sis_user_id = self.field(student, self.sis_user_id)
        if name and not number and not sis_user_id:
            if name in self._names_without_id:
                self.log.warning(NAMESAKES, name)
            self._names_without_id.add(name)
        return [
            name or student.id,
            number,
            sis_user_id,
            self.field(student, self.sis_login_id),
            self.section,
        ]
