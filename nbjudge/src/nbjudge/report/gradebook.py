"""What nbgrader's database says of an assignment: who is on the list, and every grade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Gradebook,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.api import Grade as GradeRow
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from nbjudge.errors import CourseError

Key = tuple[str, str]  # the name of a notebook and the grade id of one of its cells


@dataclass(frozen=True)
class Grade:
    """The points for one graded cell: a person's where there are some, else the grader's."""

    points: float
    max_points: float
    waits: bool  # for a person to mark it
    written: bool  # an answer in prose


@dataclass(frozen=True)
class Entry:
    """What the gradebook has of one student's submission."""

    penalty: float = 0.0  # for handing in late
    grades: dict[Key, Grade] = field(default_factory=dict)


@dataclass(frozen=True)
class AssignmentGrades:
    """An assignment in the gradebook: names by student id, entries by student id, points at most."""

    names: dict[str, str]
    entries: dict[str, Entry]
    max_points: float


def read_gradebook(url: str, course_id: str, assignment: str) -> AssignmentGrades:
    """Raises CourseError where the gradebook cannot be read or has no such assignment."""
    with _open_gradebook(url, course_id) as gradebook:
        names = {student.id: _full_name(student) for student in gradebook.db.query(Student)}
        found = gradebook.db.query(Assignment).filter(Assignment.name == assignment).one_or_none()
        if found is None:
            raise CourseError(
                f"The gradebook {_without_password(url)} knows no assignment {assignment!r}: "
                f"run `nbjudge grade {assignment}` first."
            )
        return AssignmentGrades(names, _entries(gradebook, assignment), float(found.max_score))


def _entries(gradebook: Any, assignment: str) -> dict[str, Entry]:
    grades: dict[str, dict[Key, Grade]] = defaultdict(dict)
    for student, notebook, cell, points, max_points, waits, kind in _rows(gradebook, assignment):
        grades[student][notebook, cell] = Grade(points, max_points, bool(waits), kind != "code")
    penalties: dict[str, float] = defaultdict(float)
    handed_in = (
        gradebook.db.query(SubmittedAssignment.student_id, SubmittedNotebook.late_submission_penalty)
        .select_from(SubmittedAssignment)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .outerjoin(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .filter(Assignment.name == assignment)
    )
    for student, penalty in handed_in:
        penalties[student] += penalty or 0.0
    return {student: Entry(penalty, grades.get(student, {})) for student, penalty in penalties.items()}


def _rows(gradebook: Any, assignment: str) -> Any:
    """Every grade of an assignment in one query: a class of a thousand has many."""
    return (
        gradebook.db.query(
            SubmittedAssignment.student_id,
            Notebook.name,
            BaseCell.name,
            GradeRow.score,
            GradeRow.max_score,
            GradeRow.needs_manual_grade,
            GradeRow.cell_type,
        )
        .select_from(GradeRow)
        .join(SubmittedNotebook, GradeRow.notebook_id == SubmittedNotebook.id)
        .join(Notebook, SubmittedNotebook.notebook_id == Notebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(BaseCell, GradeRow.cell_id == BaseCell.id)
        .filter(Assignment.name == assignment)
    )


@contextmanager
def _open_gradebook(url: str, course_id: str) -> Iterator[Any]:
    try:
        with Gradebook(url, course_id) as gradebook:
            yield gradebook
    except (SQLAlchemyError, ImportError) as error:  # the driver of another database may not be installed
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise CourseError(
            f"The gradebook {_without_password(url)} cannot be read ({reason}): check "
            "c.CourseDirectory.db_url and that no other program is writing to it."
        ) from error


def _full_name(student: Any) -> str:
    return " ".join(part for part in (student.first_name, student.last_name) if part)


def _without_password(url: str) -> str:
    """Without the password."""
    return make_url(url).render_as_string()
