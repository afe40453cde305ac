"""The exporter with which nbgrader's `Autograde` reads submissions."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from traitlets import Bool
from traitlets.log import get_logger

from nbjudge.course.assignment_forms import answer_cells, named_notebooks, template_of, without_hidden_regions
from nbjudge.course.course import Assignment
from nbjudge.course.folders import folders_of
from nbjudge.errors import CourseError
from nbjudge.nbgrader_hooks.autograde import exit_on_write_error, stop_if_unwritable, take_over
from nbjudge.nbgrader_hooks.preprocessors import assignment_of
from nbjudge.plain_text import keep_plain
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import ALL_EXTRA_FILES, plain_file_names
from nbjudge.submission.folder import (
    OUT_OF_REACH,
    OutOfReachError,
    SubmissionFolder,
    files_beside,
    read_handed_in,
)
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import contents_of, read_submission

NO_NOTEBOOKS = "No notebooks were matched by"
SEARCHED_AT_THE_TOP = (
    "nbgrader looks for notebooks at the top of a submission's folder only: `nbjudge grade` also grades a "
    "submission in a subfolder, under another file name, or behind a link."
)


class NamesOtherCommand(logging.Filter):
    """Add to nbgrader's error that it found no notebook which command grades such submissions.

    nbgrader searches before it makes its exporter, and exits; it has no setting for this.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if record.levelno == logging.ERROR and message.startswith(NO_NOTEBOOKS):
            record.msg, record.args = f"{message}. {SEARCHED_AT_THE_TOP}", None
        return True


# nbgrader searches for submissions, and logs the names of files, before it makes the exporter.
LOG: Any = get_logger()
keep_plain(LOG)
LOG.addFilter(NamesOtherCommand())


class SubmissionExporter(NotebookExporter):
    """Read submissions in any state, including those that stock nbgrader passes over.

    For `Autograde.exporter_class`. A submission without the assignment's notebook is graded too: the
    notebook may have another name, and if there is none the student is told so.
    """

    handed_in: SubmissionFolder  # the submission that is being graded
    files_beside: dict[str, bytes]  # its files that are put beside the notebook while it runs
    # nbconvert validates a notebook after the last preprocessor, not after each one.
    optimistic_validation = Bool(True).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        keep_plain(self.log)
        take_over(self.parent, self.config)

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        try:
            with exit_on_write_error(Path(filename)):
                return self._from_filename(filename, resources, **kwargs)
        except OutOfReachError as error:
            raise CourseError(OUT_OF_REACH.format(filename, error)) from error

    def _from_filename(self, filename: str, resources: Any, **kwargs: Any) -> Any:
        converter: Any = self.parent
        coursedir = converter.coursedir
        about = resources["nbgrader"]
        if Path(filename).parent != folders_of(coursedir).submitted(about["student"], about["assignment"]):
            return super().from_filename(filename, resources=resources, **kwargs)
        stop_if_unwritable(coursedir, f"Grading stopped before {about['student']}.")
        self._read(assignment_of(coursedir, about), resources)
        resources["metadata"] = ResourcesDict(name=Path(filename).stem, path=str(Path(filename).parent))
        return self.from_notebook_node(nbformat.v4.new_notebook(), resources=resources, **kwargs)

    def _read(self, assignment: Assignment, resources: Any) -> None:
        """Read a submission once: the digest is recorded of the very content that is graded."""
        converter: Any = self.parent
        about, name = resources["nbgrader"], f"{assignment.name}.ipynb"
        notebooks = assignment.course.assignments_in(assignment.folder)
        forms = {f"{each.name}.ipynb": template_of(each, self.config) for each in notebooks}
        folder = folders_of(converter.coursedir).submission(about["student"], about["assignment"])
        try:
            handed_in = read_handed_in(folder, forms)
        except OSError as error:
            raise OutOfReachError(f"{error.strerror}") from error
        contents = {each: contents_of(form) for each, form in forms.items()}
        submission = read_submission(handed_in, name, answer_cells(forms[name]), contents)
        protected = converter.exclude_overwriting.get(about["assignment"], [])
        given = set(plain_file_names(assignment.source_path.parent)) - set(protected)
        limits = assignment.limits or GradingSettings(config=self.config).limits
        limit = min(ALL_EXTRA_FILES, limits.disk // 2)
        files, note = files_beside(handed_in, submission.path, given, limit)
        cells = [*submission.cells, *(cell for form in forms.values() for cell in form.cells)]
        for other in named_notebooks(cells, forms.keys() - {name}):
            # As students have it, with their answers: it holds no hidden test and no solution.
            answers = read_submission(handed_in, other, answer_cells(forms[other]), contents).cells
            merged = merge_submission(without_hidden_regions(forms[other], self.config), answers)
            files[other] = nbformat.writes(merged).encode()
        self.files_beside = files
        self.handed_in = replace(handed_in, notebooks={})  # whose outputs may be large
        resources["nbjudge_digest"] = handed_in.digest
        resources["nbjudge_submission"] = replace(submission, note=f"{submission.note} {note}".strip())
