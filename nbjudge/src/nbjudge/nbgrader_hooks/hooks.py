"""The hooks into nbgrader's `Autograde`: one function for each behaviour that nbjudge changes.

nbgrader has settings for its exporter and its preprocessors only. It makes the exporter once per run, just
before it converts the submissions; `SubmissionExporter` installs these hooks then: they replace methods of
the run's own `Autograde`, the `converter`. What would make each of them unnecessary in nbgrader:

- `prepare_run`: a hook before the first submission, and one sentence in place of a traceback for each.
- `select_submissions`: a setting that says which submissions there are, and what is wrong with an id.
- `regrade_changed`: the content of a submission, not its time, decides whether it is graded again.
- `copy_no_extra_files`, `hide_links`: links are not followed, and files are copied by a preprocessor.
- `GradedNotebookWriter`: a write that fails is an error with a sentence.
"""

from __future__ import annotations

import copy
import errno
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from nbconvert.writers.files import FilesWriter
from nbgrader.converters.base import NbGraderException
from sqlalchemy.exc import OperationalError

from nbjudge.course.course import Assignment, changed_sentence
from nbjudge.course.folders import folders_of, invalid_id_reason
from nbjudge.course.gradebook import GRADES_ARE_KEPT, not_generated_reason, refuse_unwritable
from nbjudge.errors import CourseError, GradingStoppedError, stop_on_course_error
from nbjudge.grading.job import run_job
from nbjudge.grading.prepare import prepare, refuse_other_cells, refuse_problems
from nbjudge.grading.solution import check_solution
from nbjudge.nbgrader_hooks.gradebook_hooks import update_penalties
from nbjudge.nbgrader_hooks.preprocessors import RunAndJudge, course_of
from nbjudge.record.graded_notebook import changed_material, is_same_content, remove_unfinished
from nbjudge.sandbox.fork_server_client import current_fork_server
from nbjudge.submission.files import TIMESTAMP_FILE, has_timestamp, is_reached_by_link

NOT_FOLLOWED = " (a link, which is not followed)"
GRADED_AGAIN = "%s: an earlier run stopped before it finished this submission; it is graded again."
Read = Callable[[str], datetime | None]
NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def prepare_run(converter: Any, config: Any) -> None:
    """Refuse what cannot be graded, start the sandbox, and tell nbgrader which submissions to grade.

    Raises GradingStoppedError, which says why, if no submission can be graded.
    """
    coursedir = converter.coursedir
    course = course_of(coursedir)
    assignments = course.assignments_in(coursedir.assignment_id)
    wanted = [each for each in assignments if coursedir.notebook_id in ("*", each.name)]
    if not wanted:
        return
    judging = RunAndJudge(config=config)
    is_here = getattr(converter, "executor", None) is None  # otherwise the coordinator has checked these
    with stop_on_course_error("Nothing was graded."):
        # Once and before the first student: nbgrader would repeat it for each.
        if is_here:
            reason = not_generated_reason(folders_of(coursedir), coursedir.assignment_id, config)
            if reason is not None:
                raise CourseError(reason)
            for remark in prepare(course, judging):
                converter.log.warning(remark)
        refuse_problems(assignments)
        if is_here:
            refuse_other_cells(wanted, config)
    stop_if_unwritable(coursedir, "Nothing was graded.")
    converter.writer = GradedNotebookWriter(parent=converter, config=converter.config)
    if judging.sandbox and is_here:  # it starts while the class is read
        current_fork_server(judging.modules_of(wanted[0]), tuple(judging.exposed_modules))
    if is_here:
        with stop_on_course_error("Nothing was graded."):
            for assignment in wanted:
                for warning in check_solution(assignment, judging, partial(run_job, assignment=assignment)):
                    converter.log.warning(warning)
    select_submissions(converter, wanted)
    if is_here:
        for student in update_penalties(config, coursedir, converter.log):
            converter.log.warning("%s: the late penalty follows the dates as they are now.", student)


def copy_no_extra_files(converter: Any) -> None:
    """Let nbgrader copy none of a student's files beside the graded notebook, and ignore invalid timestamps.

    The kernel's working folder gets the plain files. The hook changes a copy of the course directory, because
    the formgrader uses one course directory for everything.
    """
    coursedir = converter.coursedir = copy.copy(converter.coursedir)
    coursedir.ignore = [*coursedir.ignore, "*"]
    read = coursedir.get_existing_timestamp
    coursedir.get_existing_timestamp = _ignoring_invalid_timestamps(read, converter.log)


def _ignoring_invalid_timestamps(read: Read, log: Any) -> Read:
    """nbgrader's reader, for which a file that tells no time is like none at all."""

    def read_valid(folder: str) -> datetime | None:
        if not has_timestamp(Path(folder)):
            return None
        try:
            return read(folder)
        except (Exception, SystemExit):
            log.warning("%s tells no time and is passed over.", Path(folder) / TIMESTAMP_FILE)
            return None

    return read_valid


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
    folders = folders_of(converter.coursedir)

    def is_changed(assignment: str, student: str) -> bool:
        submitted, graded = folders.submission(student, assignment), folders.autograded(student, assignment)
        with suppress(OSError):  # grading it will report that it cannot be read
            return is_same_content(submitted, graded, notebooks) is False
        return False

    force_where(converter, is_changed)


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


def select_submissions(converter: Any, assignments: Sequence[Assignment]) -> None:
    """Tell nbgrader which notebooks there are: one per assignment notebook in each student's folder.

    Graded notebooks that an interrupted run left are removed. Students whose id nbgrader cannot use are left
    out and named at the end of the run.
    """
    coursedir, names = converter.coursedir, [assignment.name for assignment in assignments]
    folder, folders = assignments[0].folder, folders_of(coursedir)
    material = {assignment.name: assignment.material for assignment in assignments}
    changed: list[set[str]] = []
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
        changed += filter(None, [changed_material(folders.autograded(student, folder), material)])
    # What the coordinator grades was chosen by it.
    if changed and not converter.force and getattr(converter, "executor", None) is None:
        everything = set().union(*changed)
        converter.log.warning(changed_sentence(folder, len(changed), everything, "nbgrader autograde"))
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


class GradedNotebookWriter(FilesWriter):
    """nbconvert's writer, which says in one sentence what could not be written and where."""

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
