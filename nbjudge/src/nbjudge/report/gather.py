"""A class and an assignment in one piece: what nbgrader's gradebook has, beside what graded notebooks say."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from nbgrader import api
from rich.console import Console
from rich.progress import track
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from nbjudge.course.folders import CourseFolders
from nbjudge.course.gradebook import course_id, gradebook_url
from nbjudge.errors import CourseError
from nbjudge.grading.solution import read_solutions
from nbjudge.judge.verdict import Verdict
from nbjudge.report.notebooks import NO_NOTEBOOK, Failure, ReportedNotebook, plain, read_reported

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


def read_gradebook(
    url: str, course_id: str, assignment: str
) -> tuple[dict[str, str], dict[str, Entry], float]:
    """Return names and entries by student id, and the points of the assignment.

    The gradebook has the assignment. Raises CourseError where it cannot be read.
    """
    try:
        with api.Gradebook(url, course_id) as gradebook:
            names = {
                each.id: " ".join(filter(None, (each.first_name, each.last_name)))
                for each in gradebook.db.query(api.Student)
            }
            max_points = gradebook.find_assignment(assignment).max_score
            return names, _entries(gradebook.db, assignment), float(max_points)
    except (SQLAlchemyError, ImportError) as error:  # the driver of another database may not be installed
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise CourseError(
            f"The gradebook {make_url(url)!r} cannot be read ({reason}): check "
            "c.CourseDirectory.db_url and that no other program is writing to it."
        ) from error


def _entries(session: Any, assignment: str) -> dict[str, Entry]:
    """Every submission and grade of an assignment, not one by one: a class of a thousand has many."""
    submitted, grade = api.SubmittedAssignment, api.Grade
    submissions = (
        session.query(submitted.student_id, submitted.late_submission_penalty)
        .join(submitted.assignment)
        .filter(api.Assignment.name == assignment)
    )
    entries = {student: Entry(penalty) for student, penalty in submissions}
    graded = (
        session.query(submitted.student_id, api.Notebook.name, api.BaseCell.name)
        .add_columns(grade.score, grade.max_score, grade.needs_manual_grade, grade.cell_type)
        .select_from(grade)
        .join(grade.cell)
        .join(grade.notebook)
        .join(api.SubmittedNotebook.notebook)
        .join(api.SubmittedNotebook.assignment)
        .join(submitted.assignment)
        .filter(api.Assignment.name == assignment)
    )
    for student, notebook, cell, points, max_points, waits, kind in graded:
        entries[student].grades[notebook, cell] = Grade(points, max_points, bool(waits), kind != "code")
    return entries


State = Literal["graded", "not graded", "not handed in"]


@dataclass(frozen=True)
class ReportedSubmission:
    """One student and this assignment."""

    student: str  # the id
    name: str  # "" where the gradebook has none
    state: State
    why: str = ""  # it is not graded
    entry: Entry = Entry()
    notebooks: tuple[ReportedNotebook, ...] = ()

    @property
    def points(self) -> float:
        """As nbgrader exports them: late penalty taken off, never below 0."""
        return max(0.0, sum(grade.points for grade in self.entry.grades.values()) - self.entry.penalty)

    @property
    def waiting(self) -> list[Key]:
        """The cells that a person has to mark."""
        return [key for key, grade in self.entry.grades.items() if grade.waits]

    @property
    def failures(self) -> list[Failure]:
        return [failure for notebook in self.notebooks for failure in notebook.failures]

    @property
    def seconds(self) -> float | None:
        """How long grading took, where that is known of every notebook."""
        known = [notebook.seconds for notebook in self.notebooks if notebook.seconds is not None]
        return sum(known) if known and len(known) == len(self.notebooks) else None

    @property
    def could_not_run(self) -> bool:
        """Not one notebook could be run at all."""
        return bool(self.notebooks) and all(notebook.reason for notebook in self.notebooks)


@dataclass(frozen=True)
class ClassResults:
    """Everybody who is on the list or has handed in, by id, and what the assignment is worth."""

    folder: str
    submissions: tuple[ReportedSubmission, ...]
    max_points: float
    warnings: tuple[str, ...] = ()  # about the assignment itself

    @cached_property
    def graded(self) -> list[ReportedSubmission]:
        return [each for each in self.submissions if each.state == "graded"]

    @cached_property
    def handed_in(self) -> list[ReportedSubmission]:
        return [each for each in self.submissions if each.state != "not handed in"]

    @cached_property
    def cells(self) -> dict[Key, str]:
        """The graded cells in the assignment's order, with the names of their exercises, if they have any."""
        names: dict[Key, str] = {}
        for notebook in (notebook for each in self.graded for notebook in each.notebooks):
            for grade_id in notebook.cells:
                verdict = notebook.verdicts.get(grade_id)
                name = names.get((notebook.name, grade_id), grade_id)
                names[notebook.name, grade_id] = verdict.exercise if verdict is not None else name
        in_gradebook = {key for each in self.graded for key in each.entry.grades}
        found = {key: name for key, name in names.items() if key in in_gradebook}
        found |= {key: key[1] for key in sorted(in_gradebook - set(found))}
        if len({notebook for notebook, _ in found}) > 1:
            return {key: f"{key[0]}: {name}" for key, name in found.items()}
        return found

    def verdicts(self) -> Iterator[tuple[ReportedSubmission, Key, Verdict]]:
        """All verdicts on answers, cell by cell.

        Those of a notebook that could not be run say nothing of the student.
        """
        for key in self.cells:
            for submission in self.graded:
                for notebook in submission.notebooks:
                    if notebook.name == key[0] and key[1] in notebook.verdicts and not notebook.reason:
                        yield submission, key, notebook.verdicts[key[1]]

    def grades(self, key: Key) -> list[Grade]:
        """Everybody's grades for one cell."""
        return [each.entry.grades[key] for each in self.graded if key in each.entry.grades]


def gather(course: CourseFolders, folder: str, console: Console) -> ClassResults:
    """Read the gradebook and every graded notebook of an assignment, with a progress bar.

    The gradebook has the assignment, see `not_generated_reason`. Raises CourseError where nothing has been
    graded.
    """
    url, own_id = gradebook_url(course.root), course_id(course.root)
    full_names, entries, max_points = read_gradebook(url, own_id, folder)
    handed_in = set(course.students(folder))
    # A student who handed in another assignment belongs to the class too.
    known = {student for assignment in course.assignments() for student in course.students(assignment)}
    students = sorted({*full_names, *entries, *handed_in, *known})
    names = {notebook for entry in entries.values() for notebook, _ in entry.grades}
    submissions = []
    # Most of the time goes into a thousand files of a few hundred kilobytes.
    silent = not console.is_terminal
    for student in track(students, "Reading the class", console=console, transient=True, disable=silent):
        name, entry = full_names.get(student, ""), entries.get(student)
        notebooks, problem = _notebooks(course.autograded(student, folder), names)
        state, why = _state(entry, problem, student in handed_in)
        results = (entry or Entry(), notebooks) if state == "graded" else (Entry(), ())
        submissions.append(ReportedSubmission(plain(student), plain(name), state, why, *results))
    if not any(each.state == "graded" for each in submissions):
        raise CourseError(
            f"No submission of {folder} has been graded: run `nbgrader autograde {shlex.quote(folder)}`."
        )
    solutions = read_solutions(course.root)
    warnings = (sentence for name in sorted(names) for sentence in solutions.get(f"{folder}/{name}", ())[1:])
    return ClassResults(folder, tuple(submissions), max_points, tuple(warnings))


def _notebooks(folder: Path, names: Collection[str]) -> tuple[tuple[ReportedNotebook, ...], str]:
    """The graded notebooks in a student's folder, and what is wrong with one of them."""
    paths = [folder / f"{name}.ipynb" for name in sorted(names)]
    read = [read_reported(path) for path in paths if path.exists()]
    problems = [each for each in read if isinstance(each, str)]
    return tuple(each for each in read if isinstance(each, ReportedNotebook)), "".join(problems[:1])


def _state(entry: Entry | None, problem: str, in_submitted: bool) -> tuple[State, str]:
    if entry is None and not in_submitted:
        return "not handed in", ""
    if problem and problem != NO_NOTEBOOK:
        return "not graded", problem
    if entry is None or not entry.grades:
        return "not graded", problem or "it has not been graded yet"
    return "graded", ""
