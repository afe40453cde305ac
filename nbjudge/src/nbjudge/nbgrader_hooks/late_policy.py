"""Late penalties: the course's policy, and bringing what the gradebook has up to date without grading.

nbgrader decides on a penalty only while it grades, and has no place for the extension of a student who has
not handed in yet. Extensions are therefore in `extensions/ASSIGNMENT.json`, as the instructor gave them, and
enter the gradebook with the submission, where nbgrader's pages and commands find them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

from nbjudge.atomic_files import write_atomically
from nbjudge.course.configuration import has_late_penalties
from nbjudge.course.dates import course_zone, days_after, late_sentence, started_days
from nbjudge.course.folders import CourseFolders, folders_of
from nbjudge.errors import CourseError
from nbjudge.settings import LateSettings


class LatePolicy(LateSettings, LateSubmissionPlugin):  # type: ignore[misc]
    """For `AssignLatePenalties.plugin_class`: what `c.LatePolicy` sets, or else nbgrader's own setting."""

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float, days: int | None = None
    ) -> float | None:
        """Return the points to take off a notebook; None for none.

        `days` are those that have started, by the course's calendar; without them a day has 24 hours.
        """
        if self.function is not None:
            penalty: float | None = self.function(student_id, score, total_seconds_late)
            return penalty
        if not (self.percent_per_day or self.zero_after_days):
            penalty = super().late_submission_penalty(student_id, score, total_seconds_late)
            return penalty
        if total_seconds_late <= 60 * self.grace_minutes:
            return None
        days = -int(-total_seconds_late // 86_400) if days is None else days
        percent = min(self.cap_percent, days * self.percent_per_day)
        if self.zero_after_days and days > self.zero_after_days:
            percent = 100
        return score * percent / 100


class Extension(msgspec.Struct, frozen=True, omit_defaults=True):
    """A student's own deadline: a time in UTC without a zone, or days after that of the class."""

    until: datetime | None = None
    days: int = 0


Extensions = dict[str, Extension]  # by student


def read_extensions(folders: CourseFolders, assignment: str) -> Extensions:
    """Those of an assignment. Raises CourseError where the file is there and cannot be read."""
    file = folders.extensions(assignment)
    try:
        return msgspec.json.decode(file.read_bytes(), type=Extensions)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise CourseError(f"{file} cannot be read ({error}): fix the file or remove it.") from error


def write_extensions(folders: CourseFolders, assignment: str, extensions: Extensions) -> None:
    """Write them in place of those that are there. Raises CourseError where that fails."""
    file = folders.extensions(assignment)
    try:
        file.parent.mkdir(exist_ok=True)
        write_atomically(file, msgspec.json.format(msgspec.json.encode(extensions)) + b"\n")
    except OSError as error:
        raise CourseError(f"{file} cannot be written ({error.strerror}): nothing was changed.") from error


@dataclass(frozen=True)
class LateWork:
    """A submission that is late, or was, or whose deadline was moved; times are in UTC without a zone."""

    student: str
    due: datetime | None  # with the extension
    received: datetime | None
    before: str  # what the gradebook says: the sentence, empty for no penalty
    after: str


def follow_dates(
    config: Config,
    coursedir: Any,
    *,
    student: str | None = None,
    extensions: Extensions | None = None,
    change: Callable[[Any], None] | None = None,
    dry_run: bool = False,
) -> list[LateWork]:
    """Decide again on the penalties of an assignment, by the dates, extensions and policy as they are now.

    Parameters
    ----------
    config
        The configuration of the course.
    coursedir
        nbgrader's course directory, with the assignment.
    student
        Only this one's submission.
    extensions
        Those that hold, in place of those of the file.
    change
        Called first with nbgrader's `Assignment`, to change a date.
    dry_run
        Whether to leave the gradebook as it is.

    Returns
    -------
    list of LateWork
        In the order of the students.

    Raises
    ------
    CourseError
        If the file of the extensions cannot be read.
    """
    if extensions is None:
        extensions = read_extensions(folders_of(coursedir), coursedir.assignment_id)
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        found = _decide(config, gradebook, coursedir.assignment_id, student, extensions, change)
        if dry_run:
            gradebook.db.rollback()
        else:
            gradebook.db.commit()
    return found


def follow_marks(
    config: Config, gradebook: Gradebook, assignment: str, *, dry_run: bool = False
) -> list[str]:
    """Decide again on the penalties of an assignment, by the points as they are now.

    A penalty in percent is one of the points that there were when nbgrader graded; marks that a person gives
    later, in nbgrader's formgrader, change the points and not the penalty. Called wherever scores leave.

    Parameters
    ----------
    config
        The configuration of the course; without late penalties in it, nothing is done.
    gradebook
        The open gradebook.
    assignment
        The name of the assignment.
    dry_run
        Whether to commit nothing: the open gradebook shows the penalties, and closing it takes them back.

    Returns
    -------
    list of str
        The students whose penalty is another one.
    """
    if not has_late_penalties(config):
        return []
    works = _decide(config, gradebook, assignment, None, {})
    if not dry_run:
        gradebook.db.commit()
    return [work.student for work in works if work.before != work.after]


def _decide(
    config: Config,
    gradebook: Gradebook,
    name: str,
    student: str | None,
    extensions: Extensions,
    change: Callable[[Any], None] | None = None,
) -> list[LateWork]:
    """Decide on the penalties in an open gradebook, and commit nothing."""
    zone, step = course_zone(config), AssignLatePenalties(config=config)
    step.init_plugin()
    plugin, found = step.plugin_inst, []
    assignment = gradebook.find_assignment(name)
    chosen = {"assignment_id": assignment.id} | ({} if student is None else {"student_id": student})
    query = gradebook.db.query(SubmittedAssignment).filter_by(**chosen)
    submissions = query.order_by(SubmittedAssignment.student_id).all()
    has_date = assignment.duedate is not None  # nbgrader cannot add an extension to nothing
    before = {
        each.id: (each.total_seconds_late, each.duedate) if has_date else (0.0, None) for each in submissions
    }
    if change is not None:
        change(assignment)
    for submission in submissions:
        extension = extensions.get(submission.student_id)
        if extension is not None or assignment.duedate is None:
            _extend(submission, extension, zone)
        score, old = submission.score, submission.late_submission_penalty or 0.0
        seconds, penalty = submission.total_seconds_late, 0.0
        for notebook in submission.notebooks:
            points = None
            if seconds > 0:
                days: dict[str, int] = {}
                if isinstance(plugin, LatePolicy):
                    days["days"] = started_days(submission.duedate, submission.timestamp, zone)
                points = plugin.late_submission_penalty(
                    submission.student_id, notebook.score, seconds, **days
                )
            notebook.late_submission_penalty = (
                None if points is None else min(max(points, 0.0), notebook.score)
            )
            penalty += notebook.late_submission_penalty or 0.0
        seconds_before, due_before = before[submission.id]
        if seconds or old or student is not None or due_before != submission.duedate:
            found.append(
                LateWork(
                    submission.student_id,
                    submission.duedate,
                    submission.timestamp,
                    late_sentence(seconds_before, old, score),
                    late_sentence(seconds, penalty, score),
                )
            )
    return found


def own_deadline(due: datetime, extension: Extension, zone: Any) -> datetime:
    """Return a student's deadline, never before that of the class."""
    return max(due, extension.until or days_after(due, extension.days, zone))


def _extend(submission: Any, extension: Extension | None, zone: Any) -> None:
    """Enter an extension as nbgrader stores it: a time that is added to the assignment's deadline."""
    due = submission.assignment.duedate
    added = own_deadline(due, extension, zone) - due if due is not None and extension is not None else None
    if added != submission.extension:
        submission.extension = added or None
