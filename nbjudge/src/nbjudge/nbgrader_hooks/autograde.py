"""nbgrader's `Autograde` as nbjudge runs it: what it does otherwise, and what would make that unnecessary.

nbgrader has settings for its exporter and its preprocessors only. It makes the exporter once per run, just
before it converts the submissions. `SubmissionExporter` then makes the run's own `Autograde` a
`JudgedAutograde`, with a copy of the course directory, which the formgrader uses for everything.
"""

from __future__ import annotations

import copy
import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from nbconvert.writers.files import FilesWriter
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from traitlets.config import Config

from nbjudge.course.configuration import check_settings, has_late_penalties
from nbjudge.course.course import Assignment, changed_sentence, open_course
from nbjudge.course.folders import CourseFolders, folders_of, invalid_id_reason
from nbjudge.course.gradebook import GRADES_ARE_KEPT, not_generated_reason, refuse_unwritable
from nbjudge.course.student_change import finish_change
from nbjudge.errors import CourseError, GradingStoppedError, stop_on_course_error
from nbjudge.grading.job import Executor, run_job
from nbjudge.grading.prepare import check_solution, prepare, refuse_other_cells, refuse_problems
from nbjudge.nbgrader_hooks.late_policy import follow_dates
from nbjudge.nbgrader_hooks.shared_sql import with_shared_sql
from nbjudge.plain_text import plain_line
from nbjudge.record.graded_notebook import changed_material, is_same_content, remove_unfinished
from nbjudge.record.grades import NotebookGrades, open_tasks, read_grades, read_marked_answers
from nbjudge.sandbox.fork_server_client import current_fork_server
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import TIMESTAMP_FILE, has_timestamp, is_reached_by_link

NOT_FOLLOWED = " (a link, which is not followed)"
GRADED_AGAIN = "%s: an earlier run stopped before it finished this submission; it is graded again."
NOT_TAKEN_BACK = "%s: its grading stopped, and the gradebook may show 0 for it until it is graded again (%s)."
NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# What nbgrader changes of each kind of row while it grades.
CHANGED = {
    "SubmittedAssignment": ("timestamp",),
    "SubmittedNotebook": ("late_submission_penalty",),
    "Grade": ("auto_score", "needs_manual_grade"),
    "Comment": ("auto_comment",),
}
# The columns of these rows that say that someone has graded or extended a submission.
GIVEN = ("auto_score", "manual_score", "extra_credit", "auto_comment", "manual_comment", "extension")
Earlier = dict[str, dict[str, Any]]  # the earlier values of each row's columns, by the id of the row


class SafeCourseDirectory(CourseDirectory):  # type: ignore[misc]
    """nbgrader's course directory, which follows no link and has no files of students' to copy.

    Unnecessary once nbgrader follows no link, and copies files in a preprocessor.
    """

    @classmethod
    def of(cls, coursedir: CourseDirectory, log: Any) -> SafeCourseDirectory:
        """Make one of a copy. The kernel's working folder gets the plain files."""
        safe: SafeCourseDirectory = copy.copy(coursedir)
        safe.__class__ = cls
        safe.log, safe.ignore = log, [*coursedir.ignore, "*"]
        safe.db_url = with_shared_sql(coursedir.db_url)
        return safe

    def format_path(self, step: str, student: str, assignment: str, escape: bool = False) -> str:
        """Name no folder where a submission's is reached through a link.

        nbgrader would follow the link to look for extra files and the timestamp, in the whole disk if the
        link leads there.
        """
        path, folders = str(super().format_path(step, student, assignment, escape=escape)), folders_of(self)
        if escape or step != folders.submitted_directory:
            return path
        is_link = is_reached_by_link(folders.submission(student, assignment))
        return f"{path}{NOT_FOLLOWED}" if is_link else path

    def get_existing_timestamp(self, folder: str) -> datetime | None:
        """Read a timestamp; a file that tells no time is like none at all."""
        if not has_timestamp(Path(folder)):
            return None
        try:
            time: datetime | None = super().get_existing_timestamp(folder)
            return time
        except (Exception, SystemExit):
            self.log.warning("%s tells no time and is passed over.", Path(folder) / TIMESTAMP_FILE)
            return None


class JudgedAutograde(Autograde):  # type: ignore[misc]
    """nbgrader's `Autograde`; each method says what in nbgrader would make it unnecessary."""

    coursedir: Any
    only: str | None = None  # the one student to grade; otherwise those of nbgrader's setting
    executor: Executor | None = None  # grades the notebooks; without one, this process does

    def init_notebooks(self) -> None:
        """Search nothing: nbgrader gives up on a folder without a notebook, and `_select` finds it.

        Unnecessary with a setting that says which submissions there are.
        """
        self.assignments: dict[str, list[str]] = {}
        self.notebooks: list[str] = []

    def prepare(self, config: Config) -> None:
        """Refuse what cannot be graded, start the sandbox, and select the submissions.

        Raises GradingStoppedError, which says why, if no submission can be graded. Unnecessary with a hook
        before the first submission, and one sentence in place of a traceback for each.
        """
        self.coursedir = SafeCourseDirectory.of(self.coursedir, self.log)
        self._refused: list[str] = []  # sentences about students who are left out
        self._begun: dict[tuple[str, str], Earlier] = {}
        self._marked: dict[str, tuple[NotebookGrades, dict[str, str]]] = {}  # by notebook, before grading
        coursedir, settings = self.coursedir, GradingSettings(config=config)
        course = open_course(Path(coursedir.root), self._folders)
        assignments = course.assignments_in(coursedir.assignment_id)
        wanted = [assignment for assignment in assignments if coursedir.notebook_id in ("*", assignment.name)]
        if not wanted:
            return
        is_here = self.executor is None  # otherwise the coordinator has checked these
        with stop_on_course_error("Nothing was graded."):
            if is_here and (finished := finish_change(Path(coursedir.root))):
                self.log.warning("%s", finished)
            check_settings(config)
            # Once and before the first student: nbgrader would repeat it for each.
            if is_here:
                reason = not_generated_reason(self._folders, coursedir.assignment_id, config)
                if reason is not None:
                    raise CourseError(reason)
                for remark in prepare(course, settings):
                    self.log.warning(remark)
            refuse_problems(assignments)
            if is_here:
                refuse_other_cells(wanted, config)
        stop_if_unwritable(coursedir, "Nothing was graded.")
        self.writer = GradedNotebookWriter(parent=self, config=self.config)
        if is_here:
            if settings.sandbox:  # it starts while the class is read
                modules = (*wanted[0].modules, *settings.modules)
                current_fork_server(modules, tuple(settings.exposed_modules))
            with stop_on_course_error("Nothing was graded."):
                for each in wanted:
                    for warning in check_solution(each, settings, partial(run_job, assignment=each)):
                        self.log.warning(warning)
        self._select(wanted)
        if is_here:
            for work in follow_dates(config, coursedir) if has_late_penalties(config) else ():
                if work.before != work.after:
                    self.log.warning("%s: the late penalty follows the dates as they are now.", work.student)

    def init_destination(self, assignment: str, student: str) -> bool:
        """Note a submission's marks before nbgrader removes its notebooks."""
        self._marked.clear()
        graded = self._folders.autograded(student, assignment)
        if graded.is_dir():
            for (_, name), grades in read_grades(self.coursedir.db_url, assignment, student).items():
                if grades.has_marks:
                    self._marked[name] = grades, read_marked_answers(graded / f"{name}.ipynb")
        return bool(super().init_destination(assignment, student))

    def init_assignment(self, assignment: str, student: str) -> None:
        """Note what the gradebook has of a submission.

        Unnecessary with one transaction for the entry of a submission and its scores.
        """
        self._take_back()  # of the one before, which failed
        with self._gradebook() as gradebook:
            rows = list(_rows(gradebook, assignment, student))
            is_new = all(getattr(row, name, None) is None for row in rows for name in GIVEN)
            self._begun[assignment, student] = {
                row.id: {name: getattr(row, name) for name in CHANGED[type(row).__name__]}
                for row in (() if is_new else rows)  # new also after a run that was killed
            }
        super().init_assignment(assignment, student)

    def set_permissions(self, assignment: str, student: str) -> None:
        """Keep a mark given by hand where the answer is the same to the letter and its automatic points are.

        nbgrader offers every mark again that it grades again, except on tasks, whatever the answer is. A
        learning platform gets no grade for a submission with a mark that is offered. Unnecessary with a
        setting for which marks a new grading offers again.
        """
        for name, (grades, answers) in self._marked.items():
            now = read_marked_answers(self._folders.autograded(student, assignment) / f"{name}.ipynb")
            same = {cell for cell, answer in now.items() if answer == answers.get(cell)}
            with self._gradebook() as gradebook:
                for grade in gradebook.find_submission_notebook(name, assignment, student).grades:
                    before = grades.cells.get(grade.name)
                    if before is not None and before.manual_score is not None:
                        is_same = grade.name in same and grade.auto_score == before.auto_score
                        grade.needs_manual_grade = before.waits or not is_same
                gradebook.db.commit()
        self._begun.clear()  # nbgrader gets here once all notebooks have their grades
        if has_late_penalties(self.config) or self._folders.extensions(assignment).exists():
            follow_dates(self.config, self.coursedir, student=student)
        super().set_permissions(assignment, student)

    def convert_notebooks(self) -> None:
        """Convert all submissions, then say what is left to do, and fail if students are left out."""
        try:
            try:
                super().convert_notebooks()
            finally:
                self._take_back()
            if not self.only:  # `nbjudge grade` says it once for the class
                for sentence in open_tasks(
                    self.coursedir.db_url, self._folders, self.coursedir.assignment_id
                ):
                    self.log.warning(sentence)
        finally:
            for sentence in self._refused:
                self.log.error("%s", sentence)
        if self._refused:
            raise NbGraderException(" ".join(self._refused))

    @property
    def _folders(self) -> CourseFolders:
        return folders_of(self.coursedir)

    def _gradebook(self) -> Any:
        return Gradebook(self.coursedir.db_url, self.coursedir.course_id)

    def _select(self, assignments: Sequence[Assignment]) -> None:
        """Find the notebooks to grade: one per assignment notebook in each student's folder.

        Graded notebooks that an interrupted run left are removed. Students whose id nbgrader cannot use are
        left out and named at the end of the run. A submission is graded again if its content has changed,
        whatever its timestamps are. Unnecessary if nbgrader had the same ideas of both.
        """
        folder, folders = assignments[0].folder, self._folders
        names = [assignment.name for assignment in assignments]
        material = {assignment.name: assignment.material for assignment in assignments}
        changed: list[set[str]] = []
        self.init_notebooks()
        for student in self._chosen_students():
            reason, graded = invalid_id_reason(student), folders.autograded(student, folder)
            if reason:
                self._refused.append(reason)
            else:
                submitted = folders.submitted(student, folder)
                self.assignments[str(submitted)] = [str(submitted / f"{name}.ipynb") for name in names]
            if remove_unfinished(graded, names, self.coursedir.notebook_id == "*"):
                self.log.warning(GRADED_AGAIN, student)
            changed += filter(None, [changed_material(graded, material)])
        # What the coordinator grades was chosen by it.
        if changed and not self.force and self.executor is None:
            everything = set().union(*changed)
            self.log.warning(changed_sentence(folder, len(changed), everything, "nbgrader autograde"))

        def is_changed(assignment: str, student: str) -> bool:
            submitted, graded = (
                folders.submission(student, assignment),
                folders.autograded(student, assignment),
            )
            with suppress(OSError):  # grading it will report that it cannot be read
                return is_same_content(submitted, graded, [f"{name}.ipynb" for name in names]) is False
            return False

        force_where(self, is_changed)

    def _chosen_students(self) -> list[str]:
        """The ids of the students to grade: `only` this one, or those of nbgrader's setting `student_id`.

        The setting is a student's id, of any characters, or else a pattern.
        """
        everybody = self._folders.students(self.coursedir.assignment_id)
        wanted = self.coursedir.student_id if self.only is None else self.only
        if wanted in everybody and (self.only is not None or wanted != "*"):
            return [wanted]
        return [student for student in everybody if fnmatchcase(student, wanted)]

    def _take_back(self) -> None:
        """Take back what nbgrader entered for submissions that it then did not grade.

        Whatever ended their grading: a stopped run, Ctrl-C, a failure of this submission alone.
        """
        for (assignment, student), earlier in self._begun.items():
            try:
                # nbgrader removes the folder itself unless the whole run is stopped. First, because a full
                # disk then has space for the gradebook again.
                names = [Path(notebook).stem for notebook in self.notebooks]
                is_whole = self.coursedir.notebook_id == "*"
                remove_unfinished(self._folders.autograded(student, assignment), names, is_whole)
                with self._gradebook() as gradebook:
                    for row in reversed(list(_rows(gradebook, assignment, student))):
                        # Not by nbgrader's own method, which logs a traceback where the disk is full.
                        if not earlier:
                            gradebook.db.delete(row)
                        for name, value in earlier.get(row.id, {}).items():
                            setattr(row, name, value)
                    gradebook.db.commit()
            except (SQLAlchemyError, OSError) as error:  # it must not hide what stopped the grading
                self.log.error(NOT_TAKEN_BACK, student, plain_line(str(error)))
        self._begun.clear()


def take_over(converter: Any, config: Config) -> None:
    """Make a run of nbgrader's `Autograde` one of `JudgedAutograde`, and prepare it."""
    if not isinstance(converter, JudgedAutograde):
        converter.__class__ = JudgedAutograde
    converter.prepare(config)


def force_where(converter: Any, is_old: Callable[[str, str], bool]) -> None:
    """Let a converter of nbgrader's convert again what is old: the assignment and student say which."""
    init_destination = converter.init_destination

    def init_destination_of_old(assignment: str, student: str) -> bool:
        force = converter.force
        converter.force = force or is_old(assignment, student)
        try:
            return bool(init_destination(assignment, student))
        finally:
            converter.force = force

    converter.init_destination = init_destination_of_old


def _rows(gradebook: Any, assignment: str, student: str) -> Iterator[Any]:
    """Yield what the gradebook has of a submission, each row before those that belong to it."""
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return
    yield submission
    for notebook in submission.notebooks:
        yield notebook
        yield from notebook.grades
        yield from notebook.comments


class GradedNotebookWriter(FilesWriter):
    """nbconvert's writer, which says in one sentence what could not be written and where.

    Unnecessary once a write that fails is an error with a sentence.
    """

    def _makedir(self, path: str, mode: int = 0o755) -> None:
        with exit_on_write_error(Path(path), any_error=True):
            super()._makedir(path, mode)

    def write(self, output: Any, resources: Any, notebook_name: str | None = None, **options: Any) -> Any:
        with exit_on_write_error(Path(self.build_directory), any_error=True):
            return super().write(output, resources, notebook_name=notebook_name, **options)


@contextmanager
def exit_on_write_error(place: Path, any_error: bool = False) -> Iterator[None]:
    """Stop the run with a sentence where the gradebook or a file cannot be written.

    Of the file system's errors those that say so; with `any_error` all.
    """
    try:
        yield
    except OperationalError as error:
        raise GradingStoppedError(
            f"Grading stopped: the gradebook cannot be written ({error.orig}). {GRADES_ARE_KEPT}"
        ) from error
    except OSError as error:
        if not any_error and error.errno not in NOT_WRITTEN:
            raise
        where = error.filename or place
        raise GradingStoppedError(
            f"Grading stopped: {where} cannot be written ({error.strerror}). {GRADES_ARE_KEPT}"
        ) from error


def stop_if_unwritable(coursedir: Any, what_happened: str) -> None:
    """Stop the run, with a sentence, where grades cannot be written to nbgrader's folder or gradebook."""
    with stop_on_course_error(what_happened, GRADES_ARE_KEPT):
        refuse_unwritable(folders_of(coursedir).by_step()["autograded"], coursedir.db_url)
