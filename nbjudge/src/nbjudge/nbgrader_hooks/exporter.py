"""The exporter with which nbgrader's `Autograde` reads submissions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from traitlets import Bool
from traitlets.log import get_logger

from nbjudge.course.assignment_forms import answer_cells
from nbjudge.course.course import Assignment
from nbjudge.course.folders import folders_of
from nbjudge.errors import CourseError
from nbjudge.nbgrader_hooks.hooks import NamesOtherCommand, copy_no_extra_files, hide_links, prepare_run
from nbjudge.nbgrader_hooks.nbgrader_course import assignment_of, course_of, submitted_folder
from nbjudge.nbgrader_hooks.preprocessors import graded_form
from nbjudge.nbgrader_hooks.shared_files import SharedFiles
from nbjudge.nbgrader_hooks.storage import exit_on_write_error, refuse_unwritable
from nbjudge.nbgrader_hooks.ungraded import take_back_ungraded
from nbjudge.plain_text import keep_plain
from nbjudge.submission.files import plain_file_names
from nbjudge.submission.folder import HandedIn, files_beside, read_handed_in
from nbjudge.submission.notebook_file import OUT_OF_REACH, OutOfReach
from nbjudge.submission.read_submission import read_submission

# nbgrader searches for submissions, and logs the names of files, before it makes the exporter.
LOG: Any = get_logger()
keep_plain(LOG)
LOG.addFilter(NamesOtherCommand())


class SubmissionExporter(NotebookExporter):
    """Read submissions in any state, including those that stock nbgrader passes over.

    For `Autograde.exporter_class`. A submission without the assignment's notebook is graded too: the notebook
    may have another name, and if there is none the student is told so.

    Attributes
    ----------
    handed_in
        The submission that is being graded.
    files_beside
        Its files that are put beside the notebook while it runs.
    logged_warnings
        Warnings about the assignment that are already in the log.
    """

    handed_in: HandedIn
    files_beside: dict[str, bytes]
    # nbconvert validates a notebook after the last preprocessor, not after each one.
    optimistic_validation = Bool(True).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        keep_plain(self.log)
        self.logged_warnings: set[str] = set()
        converter: Any = self.parent
        copy_no_extra_files(converter)
        hide_links(converter.coursedir)
        take_back_ungraded(converter)
        prepare_run(converter, self.config)
        # When a whole class is graded at once, the exporters of its submissions share one object.
        shared: Any = getattr(converter, "shared_files", None)
        coursedir = converter.coursedir
        self._shared_files = shared or SharedFiles(folders_of(coursedir), coursedir.assignment_id)

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
        protected = converter.exclude_overwriting.get(about["assignment"], [])
        given = set(plain_file_names(assignment.source_path.parent)) - set(protected)
        self.files_beside, note = files_beside(handed_in, submission.path, given)
        self.handed_in = replace(handed_in, notebooks={})  # whose outputs may be large
        remark = self._shared_files.warning(about["student"], handed_in)
        resources["nbjudge_record"] = {"digest": handed_in.digest, "remark": remark}
        resources["nbjudge_submission"] = replace(submission, note=f"{submission.note} {note}".strip())
