"""The exporter that nbgrader's `Autograde` reads submissions with."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.converters.base import NbGraderException
from traitlets.log import get_logger

from nbjudge.course.course import Assignment
from nbjudge.course.folders import folders_of
from nbjudge.course.generated import not_generated_reason
from nbjudge.course.student_ids import invalid_id_reason
from nbjudge.errors import CourseError
from nbjudge.grading.executor import jobs_run_elsewhere
from nbjudge.nbgrader_hooks.nbgrader_course import (
    assignment_of,
    autograded_folder,
    chosen_students,
    course_of,
    submitted_folder,
)
from nbjudge.nbgrader_hooks.preprocessors import RunAndJudge, graded_form
from nbjudge.nbgrader_hooks.storage import GradedNotebookWriter, exit_on_write_error, refuse_unwritable
from nbjudge.nbgrader_hooks.submissions import NamesOtherCommand, SharedFiles, hide_links, regrade_changed
from nbjudge.nbgrader_hooks.ungraded import take_back_ungraded
from nbjudge.plain_text import keep_plain
from nbjudge.record.graded_notebook import remove_unfinished
from nbjudge.sandbox.fork_server import current_fork_server
from nbjudge.submission.files import plain_file_names
from nbjudge.submission.folder import HandedIn, files_beside, read_handed_in
from nbjudge.submission.forms import answer_cells
from nbjudge.submission.notebook_file import OUT_OF_REACH, OutOfReach
from nbjudge.submission.read import read_submission
from nbjudge.submission.timestamps import ignoring_invalid_timestamps

GRADED_AGAIN = "%s: an earlier run ended before it was done with this submission; it is graded again."

LOG: Any = get_logger()  # before nbgrader has looked for a class, and says whose folders it found
keep_plain(LOG)
LOG.addFilter(NamesOtherCommand())


class SubmissionExporter(NotebookExporter):
    """Reads submissions whatever state they are in, and finds those that stock nbgrader passes over.

    For `Autograde.exporter_class`. A folder without the assignment's notebook is graded too: the
    notebook may have another name, and where there is none the student is told so.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        keep_plain(self.log)
        # nbgrader makes its exporter just before it converts what it found: the one moment to say.
        self.handed_in: HandedIn  # the submission that is being graded, and of its files those ...
        self.files_beside: dict[str, bytes]  # ... that are put beside the notebook while it runs
        self.logged_warnings: set[str] = set()  # those of the assignment itself
        self._ignore_extra_files()
        take_back_ungraded(self.parent)
        self._prepare_run()

    def _ignore_extra_files(self) -> None:
        """Have nbgrader copy none of a student's files, and take no timestamp that is none.

        Files, and links above all, have no business beside the graded notebooks: the kernel's work folder
        gets the plain ones. (In a copy: the formgrader keeps one course directory for all that it does.)
        """
        converter: Any = self.parent
        coursedir = converter.coursedir = copy.copy(converter.coursedir)
        coursedir.ignore = [*coursedir.ignore, "*"]
        hide_links(coursedir)
        read = coursedir.get_existing_timestamp
        coursedir.get_existing_timestamp = ignoring_invalid_timestamps(read, self.log)

    def _prepare_run(self) -> None:
        """Refuse what cannot be graded at all, choose what is, and clear what a broken run left."""
        converter: Any = self.parent
        coursedir = converter.coursedir
        assignments = course_of(coursedir).assignments_in(coursedir.assignment_id)
        wanted = [assignment for assignment in assignments if coursedir.notebook_id in ("*", assignment.name)]
        if not wanted:
            return
        if not jobs_run_elsewhere():  # there it was looked at before
            _refuse_not_generated(coursedir, self.config)
        for assignment in assignments:
            _refuse_broken_assignment(assignment)
        self._prepare_machine(wanted[0])
        self._select(wanted)

    def _prepare_machine(self, assignment: Assignment) -> None:
        """Room on the disk, and a sandbox that warms up while the class is being read."""
        converter: Any = self.parent
        judging = RunAndJudge(config=self.config)
        here = not jobs_run_elsewhere()
        if here:
            judging.refuse_without_sandbox()
            judging.refuse_readable_paths(converter.coursedir)
        refuse_unwritable(converter.coursedir, "Nothing was graded.")
        converter.writer = GradedNotebookWriter(parent=converter, config=converter.config)
        if judging.sandbox and here:
            current_fork_server(judging.modules_of(assignment), tuple(judging.helpers))

    def _select(self, wanted: list[Assignment]) -> None:
        """Tell nbgrader which notebooks there are: one of each assignment in each student's folder."""
        converter: Any = self.parent
        coursedir, names = converter.coursedir, [assignment.name for assignment in wanted]
        students = chosen_students(coursedir, getattr(converter, "only", None))
        refused = {student: reason for student in students if (reason := invalid_id_reason(student))}
        about = {student: {"student": student, "assignment": wanted[0].folder} for student in students}
        folders = [submitted_folder(coursedir, about[each]) for each in students if each not in refused]
        converter.assignments = {
            str(folder): [str(folder / f"{name}.ipynb") for name in names] for folder in folders
        }
        regrade_changed(converter, [f"{name}.ipynb" for name in names])
        # Of a whole class graded at once, each submission has an exporter of its own.
        shared: Any = getattr(converter, "shared_files", None)
        self._shared_files = shared or SharedFiles(folders_of(coursedir), coursedir.assignment_id)
        for student in students:
            folder = autograded_folder(coursedir, about[student])
            if remove_unfinished(folder, names, coursedir.notebook_id == "*"):
                self.log.warning(GRADED_AGAIN, student)
        if refused:
            _fail_after_grading(converter, list(refused.values()))

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        try:
            with exit_on_write_error(Path(filename)):
                return self._from_filename(filename, resources, **kwargs)
        except OutOfReach as error:
            raise CourseError(OUT_OF_REACH.format(filename, error)) from error

    def _from_filename(self, filename: str, resources: Any, **kwargs: Any) -> Any:
        converter: Any = self.parent
        coursedir = converter.coursedir
        about = resources["nbgrader"]
        if Path(filename).parent != submitted_folder(coursedir, about):
            return super().from_filename(filename, resources=resources, **kwargs)
        refuse_unwritable(coursedir, f"Grading stopped before {about['student']}.")
        self._read(assignment_of(course_of(coursedir), about), resources)
        resources["metadata"] = ResourcesDict(name=Path(filename).stem, path=str(Path(filename).parent))
        return self.from_notebook_node(nbformat.v4.new_notebook(), resources=resources, **kwargs)

    def _read(self, assignment: Assignment, resources: Any) -> None:
        """Read a submission once: the digest is recorded of the very content that is graded."""
        converter: Any = self.parent
        about, name = resources["nbgrader"], f"{assignment.name}.ipynb"
        names = [f"{each.name}.ipynb" for each in assignment.course.assignments_in(assignment.folder)]
        folder = folders_of(converter.coursedir).submission(about["student"], about["assignment"])
        try:
            handed_in = read_handed_in(folder, names)
        except OSError as error:
            raise OutOfReach(f"{error.strerror}") from error
        answers = answer_cells(graded_form(assignment, self.config))
        submission = read_submission(handed_in, name, answers, names)
        kept = converter.exclude_overwriting.get(about["assignment"], [])
        given = set(plain_file_names(assignment.source_path.parent)) - set(kept)
        self.files_beside, note = files_beside(handed_in, submission.path, given)
        self.handed_in = replace(handed_in, notebooks={})  # whose outputs may be large
        remark = self._shared_files.remark(about["student"], handed_in)
        resources["nbjudge_record"] = {"digest": handed_in.digest, "remark": remark}
        resources["nbjudge_submission"] = replace(submission, note=f"{submission.note} {note}".strip())


def _refuse_not_generated(coursedir: Any, config: Any) -> None:
    """Said once, before anybody is graded: nbgrader says it of each student."""
    try:
        reason = not_generated_reason(folders_of(coursedir), coursedir.assignment_id, config)
    except CourseError as error:
        reason = str(error)
    if reason is not None:
        raise SystemExit(f"Nothing was graded. {reason}")


def _refuse_broken_assignment(assignment: Assignment) -> None:
    """A mistake of the author's stops the class before the first student, in one sentence."""
    try:
        problems = assignment.problems()
    except CourseError as error:
        problems = [str(error)]
    if problems:
        raise SystemExit(f"Nothing was graded. {problems[0]}")


def _fail_after_grading(converter: Any, sentences: list[str]) -> None:
    """Let nbgrader grade everybody else, and then say who is left out, with the exit status of a failure."""
    grade_the_others = converter.convert_notebooks

    def grade_and_say() -> None:
        try:
            grade_the_others()
        finally:
            for sentence in sentences:
                converter.log.error("%s", sentence)
        raise NbGraderException(" ".join(sentences))

    converter.convert_notebooks = grade_and_say
