"""The hooks into nbgrader's `Autograde`: one function for each behaviour that nbjudge changes.

nbgrader has settings for its exporter and its preprocessors only. It makes the exporter once per run, just
before it converts the submissions; `SubmissionExporter` installs these hooks then. `converter` is the
`Autograde`.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from nbgrader.converters.base import NbGraderException

from nbjudge.course.course import Assignment
from nbjudge.course.folders import folders_of, invalid_id_reason
from nbjudge.course.gradebook import not_generated_reason
from nbjudge.errors import CourseError, GradingStoppedError
from nbjudge.nbgrader_hooks.preprocessors import RunAndJudge, course_of
from nbjudge.nbgrader_hooks.storage import GradedNotebookWriter, refuse_unwritable
from nbjudge.record.graded_notebook import is_same_content, remove_unfinished
from nbjudge.sandbox.fork_server_client import current_fork_server
from nbjudge.submission.files import ignoring_invalid_timestamps, is_reached_by_link

NOT_FOLLOWED = " (a link, which is not followed)"
NO_NOTEBOOKS = "No notebooks were matched by"
SEARCHED_AT_THE_TOP = (
    "nbgrader looks for notebooks at the top of a submission's folder only: `nbjudge grade` also grades a "
    "submission in a subfolder, under another file name, or behind a link."
)
GRADED_AGAIN = "%s: an earlier run stopped before it finished this submission; it is graded again."


class NamesOtherCommand(logging.Filter):
    """Add to nbgrader's error that it found no notebook which command grades such submissions.

    nbgrader searches before it makes its exporter, and exits; it has no setting for this.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if record.levelno == logging.ERROR and message.startswith(NO_NOTEBOOKS):
            record.msg, record.args = f"{message}. {SEARCHED_AT_THE_TOP}", None
        return True


def prepare_run(converter: Any, config: Any) -> None:
    """Refuse what cannot be graded, start the sandbox, and tell nbgrader which submissions to grade.

    Parameters
    ----------
    converter
        nbgrader's `Autograde`.
    config
        The configuration of the run.

    Raises
    ------
    GradingStoppedError
        If no submission can be graded; the message says why.
    """
    coursedir = converter.coursedir
    assignments = course_of(coursedir).assignments_in(coursedir.assignment_id)
    wanted = [each for each in assignments if coursedir.notebook_id in ("*", each.name)]
    if not wanted:
        return
    judging = RunAndJudge(config=config)
    is_here = getattr(converter, "executor", None) is None  # otherwise the coordinator has checked these
    if is_here:
        refuse_not_generated(coursedir, config)
    for assignment in assignments:
        refuse_broken_assignment(assignment)
    if is_here:
        judging.refuse_without_sandbox()
        judging.refuse_readable_paths(coursedir)
    refuse_unwritable(coursedir, "Nothing was graded.")
    converter.writer = GradedNotebookWriter(parent=converter, config=converter.config)
    if judging.sandbox and is_here:  # it starts while the class is read
        current_fork_server(judging.modules_of(wanted[0]), tuple(judging.helpers))
    select_submissions(converter, wanted)


def refuse_not_generated(coursedir: Any, config: Any) -> None:
    """Stop the run if the assignment is not in the gradebook; nbgrader would repeat that for each student."""
    try:
        reason = not_generated_reason(folders_of(coursedir), coursedir.assignment_id, config)
    except CourseError as error:
        reason = str(error)
    if reason is not None:
        raise GradingStoppedError(f"Nothing was graded. {reason}")


def refuse_broken_assignment(assignment: Assignment) -> None:
    """Stop the run before the first student if the author made a mistake in the assignment."""
    try:
        problems = assignment.problems
    except CourseError as error:
        problems = [str(error)]
    if problems:
        raise GradingStoppedError(f"Nothing was graded. {problems[0]}")


def copy_no_extra_files(converter: Any) -> None:
    """Let nbgrader copy none of a student's files beside the graded notebook, and ignore invalid timestamps.

    The kernel's working folder gets the plain files. The hook changes a copy of the course directory, because
    the formgrader uses one course directory for everything.
    """
    coursedir = converter.coursedir = copy.copy(converter.coursedir)
    coursedir.ignore = [*coursedir.ignore, "*"]
    read = coursedir.get_existing_timestamp
    coursedir.get_existing_timestamp = ignoring_invalid_timestamps(read, converter.log)


def hide_links(coursedir: Any) -> None:
    """Let nbgrader find nothing where a submission's folder is reached through a link.

    nbgrader would follow the link to look for extra files and the timestamp, in the whole disk if the link
    leads there.
    """
    format_path, folders = coursedir.format_path, folders_of(coursedir)

    def format_path_without_links(step: str, student: str, assignment: str, escape: bool = False) -> str:
        path = str(format_path(step, student, assignment, escape=escape))
        if escape or step != folders.submitted_directory:
            return path
        is_link = is_reached_by_link(folders.submission(student, assignment))
        return f"{path}{NOT_FOLLOWED}" if is_link else path

    coursedir.format_path = format_path_without_links


def regrade_changed(converter: Any, notebooks: Collection[str]) -> None:
    """Let nbgrader grade a submission again if its content changed, whatever its timestamps are."""
    init_destination, folders = converter.init_destination, folders_of(converter.coursedir)

    def init_destination_of_changed(assignment: str, student: str) -> bool:
        submitted, graded = folders.submission(student, assignment), folders.autograded(student, assignment)
        force = converter.force
        with suppress(OSError):  # grading it will report that it cannot be read
            converter.force = force or is_same_content(submitted, graded, notebooks) is False
        try:
            return bool(init_destination(assignment, student))
        finally:
            converter.force = force

    converter.init_destination = init_destination_of_changed


def select_submissions(converter: Any, assignments: Sequence[Assignment]) -> None:
    """Tell nbgrader which notebooks there are: one per assignment notebook in each student's folder.

    Graded notebooks that an interrupted run left are removed. Students whose id nbgrader cannot use are left
    out and named at the end of the run.
    """
    coursedir, names = converter.coursedir, [assignment.name for assignment in assignments]
    folder, folders = assignments[0].folder, folders_of(coursedir)
    refused = {}
    converter.assignments = {}
    for student in _chosen_students(coursedir, getattr(converter, "only", None)):
        reason = invalid_id_reason(student)
        if reason:
            refused[student] = reason
        else:
            submitted = folders.submitted(student, folder)
            converter.assignments[str(submitted)] = [str(submitted / f"{name}.ipynb") for name in names]
        if remove_unfinished(folders.autograded(student, folder), names, coursedir.notebook_id == "*"):
            converter.log.warning(GRADED_AGAIN, student)
    regrade_changed(converter, [f"{name}.ipynb" for name in names])
    if refused:
        fail_after_grading(converter, list(refused.values()))


def _chosen_students(coursedir: Any, only: str | None = None) -> list[str]:
    """The ids of the students to grade: `only` this one, or those of nbgrader's setting `student_id`.

    The setting is a student's id, of any characters, or else a pattern.
    """
    everybody = folders_of(coursedir).students(coursedir.assignment_id)
    wanted = coursedir.student_id if only is None else only
    if wanted in everybody and (only is not None or wanted != "*"):
        return [wanted]
    return [student for student in everybody if fnmatchcase(student, wanted)]


def fail_after_grading(converter: Any, sentences: Sequence[str]) -> None:
    """Let nbgrader grade all other students, then log why some are left out and fail."""
    convert_notebooks = converter.convert_notebooks

    def convert_and_fail() -> None:
        try:
            convert_notebooks()
        finally:
            for sentence in sentences:
                converter.log.error("%s", sentence)
        raise NbGraderException(" ".join(sentences))

    converter.convert_notebooks = convert_and_fail
