"""Scores as a table: the export for a spreadsheet, and what the exports for learning platforms share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins.export import ExportPlugin
from traitlets.config import Config

from nbjudge.atomic_files import write_atomically
from nbjudge.course.configuration import check_settings, suggestion
from nbjudge.course.dates import late_sentence
from nbjudge.course.folders import folders_of
from nbjudge.csv_files import CsvFormat, Verbatim, identifier, is_formula
from nbjudge.errors import ExportError, SettingsError
from nbjudge.nbgrader_hooks.late_policy import follow_marks
from nbjudge.record.grades import seconds_late
from nbjudge.settings import PlatformSettings

HEADINGS = ("Student", "Last name", "First name", "Email address")


@dataclass(frozen=True)
class Grade:
    """One student's score in one assignment; `score` is None where there is none to export."""

    score: float | None
    comments: tuple[str, ...] = ()
    unmarked: bool = False
    lateness: str = ""  # how late it came and what that costs


def select_entries(there: Sequence[Any], names: Sequence[Any], attribute: str, kind: str) -> list[Any]:
    """Those of the gradebook's entries that were asked for, all if none was, in the gradebook's order.

    Raises ExportError, with a sentence, where one that was asked for is not there.
    """
    wanted = [str(name) for name in names]
    known = {str(getattr(entry, attribute)) for entry in there}
    for name in wanted:
        if name not in known:
            raise ExportError(
                f"Nothing was exported: the gradebook has no {kind} {name!r}; `nbgrader db {kind} list` "
                "shows those it has."
            )
    return [entry for entry in there if not wanted or str(getattr(entry, attribute)) in wanted]


def grade_of(gradebook: Gradebook, assignment: str, student: str, with_unmarked: bool) -> Grade:
    """The score less the late penalty, never below 0, as nbgrader's own export has it.

    Work that was not handed in has no score. Work of which a part waits for a person has none either,
    unless `with_unmarked` asks for the points it has so far.
    """
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return Grade(None)
    comments = tuple(
        comment.manual_comment
        for notebook in submission.notebooks
        for comment in notebook.comments
        if comment.manual_comment
    )
    unmarked = bool(submission.needs_manual_grade)
    penalty = submission.late_submission_penalty or 0.0
    score = max(0.0, submission.score - penalty)
    counts = math.isfinite(score) and (with_unmarked or not unmarked)
    seconds = seconds_late(submission.timestamp, submission.assignment.duedate, submission.extension)
    lateness = late_sentence(seconds, penalty, submission.score)
    return Grade(score if counts else None, comments, unmarked, lateness)


def round_score(number: float) -> float:
    """A score to two places, which is what both platforms keep; whole numbers without a fraction."""
    rounded = round(number, 2)
    return int(rounded) if rounded.is_integer() else rounded


class PlatformExporter(PlatformSettings, ExportPlugin):  # type: ignore[misc]
    """`nbgrader export --exporter=nbjudge.exports.learning_platform.PlatformExporter --to scores.csv`.

    One row for each student and one column for each assignment, written as `c.CsvFiles` says or, on the
    command line, `--CsvFiles.separator=semicolon --CsvFiles.decimal=comma`.
    """

    default_file = "scores.csv"
    csv_format: CsvFormat | None = None  # what a platform demands, whatever the course sets
    no_score = Verbatim()  # what the platform reads as "no grade"

    def __init__(self, **options: Any) -> None:
        try:
            config: Any = options.get("config") or getattr(options.get("parent"), "config", Config())
            check_settings(config)
        except SettingsError as error:
            raise ExportError(f"Nothing was exported: {error}") from error
        super().__init__(**options)

    def export(self, gradebook: Gradebook) -> None:
        """Write the file that `--to` names. Raises ExportError, with a sentence, where that cannot be."""
        assignments = select_entries(gradebook.assignments, self.assignment, "name", "assignment")
        students = select_entries(gradebook.students, self.student, "id", "student")
        self._refuse_unknown_columns({assignment.name for assignment in gradebook.assignments})
        for assignment in assignments:
            follow_marks(self.config, gradebook, assignment.name)
        rows = self.header_rows(assignments)
        for student in students:
            grades = [
                grade_of(gradebook, assignment.name, student.id, self.with_unmarked)
                for assignment in assignments
            ]
            rows.append([*self.who(student), *self.cells(grades)])
            for each, grade in zip(assignments, grades, strict=True):
                if grade.unmarked and not self.with_unmarked:
                    self.log.warning("%s, %s: not marked yet, no grade is exported.", student.id, each.name)
        file = Path(self.to or self.default_file)
        try:
            text = (self.csv_format or CsvFormat(config=self.config)).text(rows)
            write_atomically(file, text.encode("utf-8", "replace"))
        except OSError as error:
            raise ExportError(
                f"Nothing was exported: {file} cannot be written ({error.strerror}). "
                "Name another file with `--to`."
            ) from error
        self.log.info("Exported %d students and %d assignments to %s", len(students), len(assignments), file)

    def _refuse_unknown_columns(self, graded: set[str]) -> None:
        """Stop where `columns` names an assignment that neither the gradebook nor the source folder has."""
        coursedir = getattr(self.parent, "coursedir", None)
        known = graded.union(folders_of(coursedir).assignments() if coursedir else ())
        for name in self.columns:
            if name not in known:
                raise ExportError(
                    f"Nothing was exported: the course has no assignment {name!r}, which "
                    f"c.{type(self).__name__}.columns names. {suggestion(name, known)}"
                )

    def header_rows(self, assignments: list[Any]) -> list[list[Any]]:
        """The rows above the students."""
        return [[*HEADINGS, *map(self.column, assignments)]]

    def who(self, student: Any) -> list[str]:
        """The columns that say whose row it is."""
        name = (student.last_name or "", student.first_name or "")
        return [identifier(student.id), *name, self.field(student, "email")]

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
