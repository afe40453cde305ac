"""A class and an assignment in one piece: what nbgrader's gradebook has, beside what graded notebooks say.

Texts are made short and plain: a notebook that stock nbgrader graded may hold whatever its student wrote.
"""

from __future__ import annotations

import builtins
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from nbgrader import api
from rich.console import Console
from rich.progress import track
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config

from nbjudge.course.configuration import read_config
from nbjudge.course.dates import late_sentence
from nbjudge.course.folders import CourseFolders
from nbjudge.course.gradebook import course_id, gradebook_url
from nbjudge.errors import CourseError
from nbjudge.grading.prepare import read_solutions
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.nbgrader_hooks.late_policy import follow_marks
from nbjudge.plain_text import plain_line
from nbjudge.record.graded_cell import STOPPED, Status
from nbjudge.record.graded_notebook import GradedNotebook, read_graded
from nbjudge.record.grades import CellGrade, read_grades

LONGEST_TEXT = 300  # characters of what a student's code said
IN_WORDS = {
    Status.TIMED_OUT: "took too long",
    Status.KERNEL_DIED: "killed its kernel",
    Status.NOT_REACHED: "was not reached in time",
    Status.NOT_RUN: "could not be run",
}
PYTHONS_ERRORS = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
NO_NOTEBOOK = "its graded notebook cannot be read"
Key = tuple[str, str]  # the name of a notebook and the grade id of one of its cells


@dataclass
class Entry:
    """The gradebook's entry of one student's submission."""

    penalty: float = 0.0  # for handing in late
    seconds_late: float = 0.0
    grades: dict[Key, CellGrade] = field(default_factory=dict)


def read_gradebook(
    url: str, course_id: str, assignment: str, config: Config
) -> tuple[dict[str, str], dict[str, Entry], float]:
    """Return names and entries by student id, and the points of the assignment.

    The gradebook has the assignment. Raises CourseError where it cannot be read.
    """
    entries: dict[str, Entry] = {}
    try:
        with api.Gradebook(url, course_id) as gradebook:
            names = {
                each.id: " ".join(filter(None, (each.first_name, each.last_name)))
                for each in gradebook.db.query(api.Student)
            }
            max_points = float(gradebook.find_assignment(assignment).max_score)
            follow_marks(config, gradebook, assignment)
        for (student, name), notebook in read_grades(url, assignment).items():
            entry = entries.setdefault(student, Entry())
            entry.penalty += notebook.penalty or 0.0
            entry.seconds_late = notebook.seconds_late
            entry.grades |= {(name, cell): grade for cell, grade in notebook.cells.items()}
    except (SQLAlchemyError, ImportError) as error:  # the driver of another database may not be installed
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise CourseError(
            f"The gradebook {make_url(url)!r} cannot be read ({reason}): check "
            "c.CourseDirectory.db_url and that no other program is writing to it."
        ) from error
    return names, entries, max_points


@dataclass(frozen=True)
class Failure:
    """Something that did not run: the cell, what became of it, and what was said."""

    where: str
    what: str
    why: str
    is_own_error: bool = False  # of a class that the student's code defines, which may have any name


@dataclass(frozen=True)
class ReportedNotebook:
    """One graded notebook. `reason` says why nothing of it could be run, and is empty where it was."""

    name: str
    cells: tuple[str, ...]  # the grade ids of its graded cells, in their order
    verdicts: Mapping[str, Verdict]  # by grade id
    failures: tuple[Failure, ...]
    reason: str
    seconds: float | None  # None if it was not measured
    remark: str = ""  # what was unusual about what was handed in


def read_reported(path: Path) -> ReportedNotebook | str:
    """The notebook, or why it does not count as graded."""
    try:
        notebook = read_graded(path)
    except (OSError, ValueError):
        return NO_NOTEBOOK
    if notebook.record.status is Status.UNFINISHED:
        return "its grading was ended on the way"
    reason = plain(notebook.record.reason)
    graded = [cell for cell in notebook.cells if cell.is_graded]
    not_run = Failure("the whole notebook", IN_WORDS[Status.NOT_RUN], reason)
    return ReportedNotebook(
        name=path.stem,
        cells=tuple(cell.grade_id for cell in graded),
        verdicts={
            cell.grade_id: _plain(cell.exercise.verdict) for cell in graded if cell.exercise is not None
        },
        failures=(not_run,) if reason else (*_failed_cells(notebook), *_unanswered(notebook)),
        reason=reason,
        seconds=notebook.record.seconds,
        remark=plain(notebook.record.note),
    )


def plain(text: str | None) -> str:
    """A student's text on one line, short enough for a table, without characters that no file can hold."""
    return plain_line(text or "", LONGEST_TEXT)


def stops_with(error: str) -> str:
    """Return what became of a cell that raises."""
    return f"stops with {error}"


def _plain(verdict: Verdict) -> Verdict:
    """The verdict, its texts short and plain enough for a table."""
    return replace(
        verdict,
        exercise=plain(verdict.exercise),
        groups=tuple(replace(group, name=plain(group.name)) for group in verdict.groups),
        findings=tuple(
            Finding(
                plain(finding.sentence),
                plain(finding.mistake) or None,
                plain(finding.evidence),
                kind=plain(finding.kind),
            )
            for finding in verdict.findings
        ),
    )


def _failed_cells(notebook: GradedNotebook) -> Iterator[Failure]:
    """Cells that were stopped, and answers and cells of the student's own that raise.

    A given cell that raises because an answer is missing, and a test that fails, are no failures; nor is
    one that waits too long for an answer, which is listed itself.
    """
    is_judged = any(cell.exercise is not None for cell in notebook.cells)
    for cell in notebook.cells:
        by_student = cell.is_added or cell.is_answer
        waits = is_judged and not by_student and cell.status is Status.TIMED_OUT
        if cell.exercise is not None or waits:
            continue
        unnamed = "a cell of their own" if cell.is_added else plain(cell.cell_id) or "a cell"
        where = plain(cell.grade_id) if cell.grade_id else unnamed
        if cell.status in STOPPED:
            message = cell.errors[-1].message if cell.errors else ""
            yield Failure(where, IN_WORDS[cell.status], plain(message))
        elif by_student:
            for error in cell.errors:
                is_own = error.name not in PYTHONS_ERRORS
                yield Failure(where, stops_with(plain(error.name)), plain(error.message), is_own)


def _unanswered(notebook: GradedNotebook) -> Iterator[Failure]:
    """Answers that were asked and never came: they hang, or kill their kernel."""
    for cell in notebook.cells:
        if cell.exercise is not None and cell.exercise.status in STOPPED:
            verdict = cell.exercise.verdict
            # A named mistake is behind answers that came.
            sentence = next((finding.sentence for finding in verdict.findings if finding.mistake is None), "")
            yield Failure(plain(verdict.exercise), IN_WORDS[cell.exercise.status], plain(sentence))


State = Literal["graded", "not graded", "not handed in"]


@dataclass(frozen=True)
class ReportedSubmission:
    """One student and this assignment."""

    student: str  # the id
    name: str  # "" where the gradebook has none
    state: State
    why: str = ""  # it is not graded
    entry: Entry = field(default_factory=Entry)
    notebooks: tuple[ReportedNotebook, ...] = ()

    @property
    def points(self) -> float:
        """As nbgrader exports them: late penalty taken off, never below 0."""
        return max(0.0, sum(grade.points for grade in self.entry.grades.values()) - self.entry.penalty)

    @property
    def lateness(self) -> str:
        """Say how late it came and what that costs; empty if it costs nothing."""
        points = sum(grade.points for grade in self.entry.grades.values())
        return late_sentence(self.entry.seconds_late, self.entry.penalty, points)

    @property
    def waiting(self) -> list[Key]:
        """The cells that a person has to mark."""
        return [key for key, grade in self.entry.grades.items() if grade.waits]

    @property
    def failures(self) -> list[Failure]:
        return [failure for notebook in self.notebooks for failure in notebook.failures]

    @property
    def seconds(self) -> float | None:
        """Return how long grading took, where that is known of every notebook."""
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
        return [submission for submission in self.submissions if submission.state == "graded"]

    @cached_property
    def handed_in(self) -> list[ReportedSubmission]:
        return [submission for submission in self.submissions if submission.state != "not handed in"]

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

    def grades(self, key: Key) -> list[CellGrade]:
        """Everybody's grades for one cell."""
        return [each.entry.grades[key] for each in self.graded if key in each.entry.grades]


def gather(course: CourseFolders, folder: str, console: Console) -> ClassResults:
    """Read the gradebook and every graded notebook of an assignment, with a progress bar.

    The gradebook has the assignment, see `not_generated_reason`. Raises CourseError where nothing has been
    graded.
    """
    config = read_config(course.root)
    url, own_id = gradebook_url(course.root, config), course_id(course.root)
    full_names, entries, max_points = read_gradebook(url, own_id, folder, config)
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
    if not any(submission.state == "graded" for submission in submissions):
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
