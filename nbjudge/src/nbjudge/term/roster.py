"""Tables of students that platforms export: their columns, and which student a row is about."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from traitlets.config import Config

from nbjudge.errors import CourseError
from nbjudge.settings import ROSTER_FIELDS, CourseSettings

# By field, the headings of a table of our own, of Moodle's and of Canvas's exports, in lower case.
HEADINGS = {
    "id": ("student", "id", "username", "sis login id", "id number"),
    "first_name": ("first_name", "first name", "first name(s)"),
    "last_name": ("last_name", "last name", "surname"),
    "email": ("email", "email address"),
    "lms_user_id": ("lms_user_id",),
    "name": ("name", "full name"),
    "received": ("received", "handed in", "last modified (submission)"),
}
# Canvas calls a name, "Lovelace, Ada", `Student` and its own number `ID`.
CANVAS_HEADINGS = {"id": ("sis login id",), "name": ("student",), "lms_user_id": ("id",)}
NO_COLUMN = (
    "{file} has no column for {field}: name it with c.Course.roster_columns = {{{field!r}: 'HEADING'}}. Its "
    "headings are: {headings}."
)


@dataclass(frozen=True)
class Student:
    """A student's fields, as nbgrader's gradebook or a row of a table has them; empty where there is none."""

    id: str = ""
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    name: str = field(default="", compare=False)  # in one column
    received: str = field(default="", compare=False)
    line: str = field(default="", compare=False)  # of the table

    def fields(self) -> dict[str, str]:
        """What the gradebook has of a student besides the id; a full name is taken apart."""
        last, comma, first = (part.strip() for part in self.name.partition(","))
        if not comma:
            first, _, last = (part.strip() for part in self.name.rpartition(" "))
        return {
            "first_name": self.first_name or first,
            "last_name": self.last_name or last,
            "email": self.email,
            "lms_user_id": self.lms_user_id,
        }

    @property
    def names(self) -> set[str]:
        """The full name, as platforms order it; and the id, which it may have become."""
        first, last = self.first_name, self.last_name
        both = {f"{first} {last}", f"{last} {first}", f"{last}, {first}"} if first and last else set()
        return {" ".join(name.split()).casefold() for name in both | {self.name, self.id}} - {""}


def read_roster(file: Path, config: Config, required: Iterable[str] = ()) -> list[Student]:
    """Read a table with a heading: UTF-8, separated by commas, semicolons or tabs.

    Parameters
    ----------
    file
        The table.
    config
        The configuration of the course, whose `c.Course.roster_columns` come before the headings known here.
    required
        Fields that must have a column.

    Raises
    ------
    CourseError
        If it cannot be read, or has no column for a required field.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"byte {error.start} is not UTF-8"
        raise CourseError(
            f"{file} cannot be read ({reason}): give a table in UTF-8, separated by commas."
        ) from error
    headings = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=headings.count))
    columns = _columns(list(reader.fieldnames or ()), CourseSettings(config=config).roster_columns)
    for name in required:
        if name not in columns:
            headings = ", ".join(reader.fieldnames or ())
            raise CourseError(NO_COLUMN.format(file=file, field=name, headings=headings))
    rows = (
        (str(reader.line_num), {name: (row[column] or "").strip() for name, column in columns.items()})
        for row in reader
    )
    return [Student(**row, line=line) for line, row in rows if any(row.values())]


def _columns(headings: list[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """The heading of each field that a table has; those that the course names come first."""
    there = {heading.strip().casefold(): heading for heading in headings}
    known = HEADINGS | (CANVAS_HEADINGS if CANVAS_HEADINGS["id"][0] in there else {})
    names = {name: (chosen.get(name, "").casefold(), *known[name]) for name in ROSTER_FIELDS}
    found = {name: [there[each] for each in names[name] if each in there] for name in names}
    return {name: columns[0] for name, columns in found.items() if columns}


def students_of(gradebook: Gradebook) -> list[Student]:
    """The students of a gradebook."""
    fields = ("id", "first_name", "last_name", "email", "lms_user_id")
    return [Student(*(str(getattr(each, name) or "") for name in fields)) for each in gradebook.students]


def find_student(row: Student, students: Iterable[Student]) -> Student | None:
    """Find whom a row is about: by id, number, e-mail address or full name, if that is only one student's."""
    found = find_students(row, students)
    return found[0] if len(found) == 1 else None


def find_students(row: Student, students: Iterable[Student]) -> list[Student]:
    """Find whom a row may be about: one student, or those whom it fits equally well."""
    everybody, email = list(students), row.email.casefold()
    tests: list[Any] = [
        lambda each: row.id and each.id == row.id,
        lambda each: row.lms_user_id and row.lms_user_id in (each.id, each.lms_user_id.strip()),
        lambda each: email and email in (each.email.casefold(), each.id.casefold()),
        lambda each: each.names & row.names and not _are_two(each, row),
    ]
    found = [[each for each in everybody if test(each)] for test in tests]
    return next((each for each in found if len(each) == 1), next(filter(None, found), []))


def _are_two(one: Student, other: Student) -> bool:
    """Return whether two students of one name differ in a number or an address."""
    pairs = ((one.email.casefold(), other.email.casefold()), (one.lms_user_id.strip(), other.lms_user_id))
    return any(first and second and first != second for first, second in pairs)
