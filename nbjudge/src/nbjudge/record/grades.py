"""The grades of an assignment in nbgrader's gradebook: marks by hand, their answers, what a page shows."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any

from nbgrader import api
from sqlalchemy import create_engine, select

from nbjudge.cell_metadata import is_added, is_written_by_student, nbgrader_metadata
from nbjudge.course.dates import late_sentence
from nbjudge.course.folders import CourseFolders
from nbjudge.plain_text import first_few

PAGE_START = 1_000  # bytes of a page that hold the digest of its grades
OFFERED_AGAIN = (
    "{count} given by hand {wait} for you again, because the answer or its automatic points have changed: "
    "confirm or change {them} in the formgrader under Manual Grading ({students})."
)
OUTDATED = (
    "The feedback pages of {count} are older than their grades: `nbgrader generate_feedback {assignment}` "
    "makes them again."
)


@dataclass(frozen=True)
class CellGrade:
    """The gradebook's entry of one graded cell of a submission."""

    auto_score: float | None
    manual_score: float | None
    extra_credit: float | None
    waits: bool  # for a person to mark it
    # Not in a page's digest: what follows from the rest, or from the assignment.
    points: float = field(repr=False)  # a person's where there are some, else the grader's
    max_points: float = field(repr=False)
    kind: str = field(repr=False)  # of the cell: "code" or "markdown"

    @property
    def written(self) -> bool:
        """Return whether it is for an answer in prose."""
        return self.kind != "code"


@dataclass
class NotebookGrades:
    """The gradebook's entries of one submitted notebook."""

    penalty: float | None
    seconds_late: float = 0.0
    cells: dict[str, CellGrade] = field(default_factory=dict)  # by nbgrader's id of the cell
    comments: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    @property
    def has_marks(self) -> bool:
        """Return whether a person has given points."""
        return any(cell.manual_score is not None for cell in self.cells.values())

    @property
    def lateness(self) -> str:
        """Say how late it came and what that costs; empty if it costs nothing."""
        points = sum(cell.points for cell in self.cells.values())
        return late_sentence(self.seconds_late, self.penalty, points)

    def page_digest(self, graded: Path) -> str:
        """A digest that changes with these grades and whenever the notebook is graded again."""
        penalty = (self.penalty, self.seconds_late) if self.penalty else self.penalty
        about = (graded.stat().st_mtime_ns, penalty, sorted(self.cells.items(), key=str))
        return hashlib.sha256(repr((about, sorted(self.comments.items(), key=str))).encode()).hexdigest()


AllGrades = dict[tuple[str, str], NotebookGrades]  # by student and notebook


def read_grades(url: str, assignment: str, student: str | None = None) -> AllGrades:
    """Read the grades of an assignment, of one student or all."""
    submitted, notebook = api.SubmittedAssignment, api.SubmittedNotebook
    grade, comment = api.Grade, api.Comment

    def rows(table: Any, *columns: Any) -> Any:
        found = select(submitted.student_id, api.Notebook.name, *columns).select_from(table)
        if table is not notebook:
            found = found.join(table.cell).join(table.notebook)
        found = found.join(notebook.notebook).join(notebook.assignment).join(submitted.assignment)
        found = found.where(api.Assignment.name == assignment)
        return connection.execute(found if student is None else found.where(submitted.student_id == student))

    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            dates = (submitted.timestamp, api.Assignment.duedate, submitted.extension)
            grades = {
                (who, name): NotebookGrades(penalty, seconds_late(*times))
                for who, name, penalty, *times in rows(notebook, notebook.late_submission_penalty, *dates)
            }
            given = (grade.auto_score, grade.manual_score, grade.extra_credit, grade.needs_manual_grade)
            follows = (grade.score, grade.max_score, grade.cell_type)
            for who, name, cell, *values in rows(grade, api.BaseCell.name, *given, *follows):
                grades[who, name].cells[cell] = CellGrade(*values)
            comments = rows(comment, api.BaseCell.name, comment.auto_comment, comment.manual_comment)
            for who, name, cell, automatic, manual in comments:
                grades[who, name].comments[cell] = (automatic, manual)
    finally:
        engine.dispose()
    return grades


def seconds_late(received: datetime | None, due: datetime | None, extension: timedelta | None) -> float:
    """Return how late work came; nbgrader's own fails for an extension of an assignment without deadline."""
    if received is None or due is None:
        return 0.0
    return max(0.0, (received - due - (extension or timedelta())).total_seconds())


def is_outdated(
    folders: CourseFolders, student: str, assignment: str, notebook: str, grades: AllGrades
) -> bool:
    """Return whether a feedback page is there and shows other grades than the gradebook has."""
    try:
        with (folders.feedback(student, assignment) / f"{notebook}.html").open("rb") as file:
            start = file.read(PAGE_START).decode(errors="replace")
        graded = folders.autograded(student, assignment) / f"{notebook}.ipynb"
        return grades[student, notebook].page_digest(graded) not in start
    except (OSError, KeyError):  # there is no page yet, or nothing to make it from
        return False


def open_tasks(url: str, folders: CourseFolders, assignment: str) -> Iterator[str]:
    """Say in a sentence each which marks are offered again and how many feedback pages are outdated."""
    grades = read_grades(url, assignment)
    offered = [
        student
        for (student, _), notebook in sorted(grades.items())
        for cell in notebook.cells.values()
        if cell.waits and cell.manual_score is not None
    ]
    if offered:
        one = len(offered) == 1
        yield OFFERED_AGAIN.format(
            count="1 mark" if one else f"{len(offered)} marks",
            wait="waits" if one else "wait",
            them="it" if one else "them",
            students=first_few(list(dict.fromkeys(offered))),
        )
    outdated = {
        student for student, name in grades if is_outdated(folders, student, assignment, name, grades)
    }
    if outdated:
        count = "1 student" if len(outdated) == 1 else f"{len(outdated)} students"
        yield OUTDATED.format(count=count, assignment=shlex.quote(assignment))


def read_marked_answers(graded: Path) -> dict[str, str]:
    """Read a digest of each answer that a person may mark, by nbgrader's id of its cell.

    Parameters
    ----------
    graded
        A graded notebook.

    Returns
    -------
    dict
        Equal digests mean that the answer is the same to the letter. A written answer is its cell and the
        student's own text right below it. To a task it is all cells that the student added. To other code it
        is the student's code down to this cell, because what the cell shows may depend on it. Empty if the
        notebook cannot be read.
    """
    try:
        cells = json.loads(graded.read_bytes())["cells"]
        return _marked_answers(cells)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def _marked_answers(cells: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    def is_added_text(cell: Mapping[str, Any]) -> bool:
        return is_added(cell) and cell["cell_type"] != "code"

    answers = {}
    code, added = hashlib.sha256(), _content(list(filter(is_added, cells)))
    for number, cell in enumerate(cells):
        marks = nbgrader_metadata(cell)
        if cell["cell_type"] == "code" and is_written_by_student(cell):
            code.update(_content([cell]))
        if marks.get("task"):
            answer = added
        elif marks.get("grade") and cell["cell_type"] == "markdown":
            answer = _content([cell, *takewhile(is_added_text, cells[number + 1 :])])
        elif marks.get("grade"):
            answer = code.digest()
        else:
            continue
        answers[str(marks.get("grade_id"))] = hashlib.sha256(answer).hexdigest()
    return answers


def _content(cells: Sequence[Mapping[str, Any]]) -> bytes:
    """The source and the pictures of cells."""
    return json.dumps([("".join(cell["source"]), cell.get("attachments")) for cell in cells]).encode()
