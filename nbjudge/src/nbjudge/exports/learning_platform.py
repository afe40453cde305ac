"""What the exports for all platforms share: their options, and the way from gradebook to file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins.export import ExportPlugin
from traitlets import Bool, Dict, Enum, TraitError, Unicode

from nbjudge.csv_files import PLATFORM, CsvFormat, Verbatim, identifier, is_formula
from nbjudge.exports.grades import Grade, grade_of, round_score, select_entries

# nbgrader knows these of a student that a platform may know too.
FIELDS = ("id", "email", "lms_user_id")


class PlatformExporter(ExportPlugin):  # type: ignore[misc]
    """For platforms whose gradebook is a row a student and a column an assignment."""

    default_file = "grades.csv"
    no_score = Verbatim()  # what the platform reads as "no grade"

    columns = Dict(
        key_trait=Unicode(),
        value_trait=Unicode(),
        help="The platform's own names of assignments, by nbgrader's; others keep nbgrader's name.",
    ).tag(config=True)
    missing = Enum(
        ["empty", "zero"],
        default_value="empty",
        help="What to write for work that was not handed in: no grade, or 0.",
    ).tag(config=True)
    with_unmarked = Bool(
        False,
        help="Whether work that waits to be marked by hand is exported with the points it has so far.",
    ).tag(config=True)

    def __init__(self, **options: Any) -> None:
        try:
            super().__init__(**options)
        except TraitError as error:
            raise SystemExit(f"Nothing was exported: {error}") from error

    def export(self, gradebook: Gradebook) -> None:
        """Write the file that `--to` names. Raises SystemExit, with a sentence, where that cannot be."""
        assignments = select_entries(gradebook.assignments, self.assignment, "name", "assignment")
        students = select_entries(gradebook.students, self.student, "id", "student")
        for name in sorted(set(self.columns) - {each.name for each in gradebook.assignments}):
            self.log.warning("The gradebook has no assignment %r, which `columns` names.", name)
        rows = self.header_rows(assignments)
        for student in students:
            grades = [grade_of(gradebook, each.name, student.id, self.with_unmarked) for each in assignments]
            rows.append([*self.who(student), *self.cells(grades)])
            for each, grade in zip(assignments, grades, strict=True):
                if grade.unmarked and not self.with_unmarked:
                    self.log.warning("%s, %s: not marked yet, no grade is exported.", student.id, each.name)
        file = Path(self.to or self.default_file)
        self._write(file, self.csv_format().text(rows))
        self.log.info("Exported %d students and %d assignments to %s", len(students), len(assignments), file)

    def csv_format(self) -> CsvFormat:
        """How the file is written: as learning platforms demand, whatever the course sets for `CsvFiles`."""
        return PLATFORM

    def header_rows(self, assignments: list[Any]) -> list[list[Any]]:
        """The rows above the students."""
        raise NotImplementedError

    def who(self, student: Any) -> list[str]:
        """The columns that say whose row it is."""
        raise NotImplementedError

    def cells(self, grades: list[Grade]) -> list[Any]:
        """The columns of the assignments."""
        return [self.score(grade) for grade in grades]

    def score(self, grade: Grade) -> float | str:
        """A score as the platform reads it."""
        if grade.score is not None:
            return round_score(grade.score)
        return 0 if self.missing == "zero" and not grade.unmarked else self.no_score

    def column(self, assignment: Any) -> str:
        """The heading of an assignment's column."""
        return str(self.columns.get(assignment.name, assignment.name))

    def field(self, student: Any, name: str) -> str:
        """One of a student's ids as text; nothing where the gradebook has none."""
        found = identifier(str(getattr(student, name) or "")) if name else ""
        if is_formula(found) and not isinstance(found, Verbatim):
            self.log.warning(
                "%s: %s begins like a formula and was written with an apostrophe before it.", student.id, name
            )
        return found

    @staticmethod
    def _write(file: Path, text: str) -> None:
        """Put the text in the place of what the file held, whole or not at all."""
        draft = file.with_name(f"{file.name}.part-{os.getpid()}")
        try:
            draft.write_bytes(text.encode("utf-8", "replace"))
            draft.replace(file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise SystemExit(
                f"Nothing was exported: {file} cannot be written ({error.strerror}). "
                "Name another file with `--to`."
            ) from error
