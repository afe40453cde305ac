"""What nbgrader's `Autograde` runs: the exporter that reads submissions, and the two preprocessors.

The first merges the submission, the second runs and judges it.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import CheckCellMetadata, NbGraderPreprocessor
from traitlets import Bool
from traitlets.config import Config
from traitlets.log import get_logger

from nbjudge.cell_metadata import NOTICE_CELL_ID, Origin, mark_origin, recorded_remarks
from nbjudge.course.assignment_forms import answer_cells, named_notebooks, template_of, without_hidden_regions
from nbjudge.course.configuration import check_settings
from nbjudge.course.course import Assignment, open_course
from nbjudge.course.folders import folders_of
from nbjudge.course.gradebook import GRADES_ARE_KEPT
from nbjudge.errors import (
    CourseError,
    GradingImpossibleError,
    GradingStoppedError,
    WorkerDiedError,
    stop_on_course_error,
)
from nbjudge.grading.job import grade_without_running, make_job, notebook_from_json, run_job
from nbjudge.grading.regrades import apply_regrades
from nbjudge.nbgrader_hooks.autograde import exit_on_write_error, stop_if_unwritable, take_over
from nbjudge.plain_text import as_html, keep_plain
from nbjudge.record.graded_cell import Status
from nbjudge.record.graded_notebook import NotebookRecord, read_record, write_record
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import (
    ALL_EXTRA_FILES,
    EXCHANGE_SECRET,
    LARGEST_EXTRA_FILE,
    OUT_OF_REACH,
    TIMESTAMP_FILE,
    OutOfReachError,
    SubmissionFolder,
    copy_plain_files,
    files_beside,
    plain_file_names,
    read_handed_in,
    write_replacing,
)
from nbjudge.submission.merge import has_cell_ids, merge_submission
from nbjudge.submission.read_submission import Submission, contents_of, read_submission

LONGEST_SMALL_FILE = 1_000  # bytes
NOTICE = "<p><strong>From the grader:</strong> {}</p>"
_VALID: set[str] = set()  # nbgrader's metadata of notebooks, as JSON


def assignment_of(coursedir: Any, about: dict[str, str]) -> Assignment:
    """The assignment that `about`, nbgrader's part of the resources, names, as its student has it.

    Raises CourseError if there is none.
    """
    course = open_course(Path(coursedir.root), folders_of(coursedir))
    for assignment in course.assignments_in(about["assignment"]):
        if assignment.name == about["notebook"]:
            return assignment.for_student(about["student"])
    source = course.folders.source / about["assignment"] / f"{about['notebook']}.ipynb"
    raise CourseError(f"There is no source notebook {source}.")


class MergeSubmission(NbGraderPreprocessor):  # type: ignore[misc]
    """For `Autograde.sanitize_preprocessors`: the assignment's notebook with the student's cells put in."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        assignment = assignment_of(self.parent.parent.coursedir, resources["nbgrader"])
        submission: Submission = resources["nbjudge_submission"]
        merged = merge_submission(template_of(assignment, self.config), submission.cells)
        student = resources["nbgrader"]["student"]
        note = " ".join(filter(None, (submission.note, *recorded_remarks(merged))))
        record = NotebookRecord(Status.UNFINISHED, submission.reason, note)
        digest = resources["nbjudge_digest"]
        write_record(merged, replace(record, digest=digest, material=assignment.material))
        sentence = submission.reason or note
        if sentence:
            self.log.warning("%s: %s", student, sentence)
            notice = nbformat.v4.new_markdown_cell(NOTICE.format(as_html(sentence)), id=NOTICE_CELL_ID)
            mark_origin(notice, Origin.GRADER)
            if not has_cell_ids(merged):
                del notice["id"]
            merged.cells.insert(0, notice)
        return merged, resources


class CheckMetadata(CheckCellMetadata):  # type: ignore[misc]
    """nbgrader's `CheckCellMetadata`, which checks the same metadata once per process.

    They are the assignment's, not the student's, so that all notebooks of a class have the same.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        metadata = json.dumps([(cell.cell_type, cell.metadata.get("nbgrader")) for cell in nb.cells])
        if metadata not in _VALID:
            super().preprocess(nb, resources)
            _VALID.add(metadata)
        return nb, resources


class RunAndJudge(GradingSettings, NbGraderPreprocessor):  # type: ignore[misc]
    """For `Autograde.autograde_preprocessors`, in the place of `Execute`; with the options of the grading."""

    parent: Any  # nbgrader's exporter

    def __init__(self, **kwargs: Any) -> None:
        with stop_on_course_error("Nothing was graded."):
            check_settings(kwargs.get("config") or Config())
        super().__init__(**kwargs)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        assignment = assignment_of(self.parent.parent.coursedir, resources["nbgrader"])
        self._copy_beside(assignment, resources["nbgrader"])
        record = replace(read_record(nb), status=Status.COMPLETED)  # written only after the grades are
        write_record(nb, record)
        if record.reason:
            grade_without_running(nb, assignment, record.reason)
            return nb, resources
        student = resources["nbgrader"]["student"]
        excluded = self.parent.parent.exclude_overwriting.get(assignment.folder, [])
        # The exporter has read the files, with the notebook that is graded.
        job = make_job(nb, assignment, self, student, self.parent.files_beside, tuple(excluded))
        try:
            executor = self.parent.parent.executor
            result = run_job(job, assignment) if executor is None else executor(job)
        except WorkerDiedError as error:
            self.log.warning("%s: %s", student, error)
            grade_without_running(nb, assignment, str(error))
            return nb, resources
        except GradingImpossibleError as error:
            raise GradingStoppedError(f"Grading stopped at {student}. {error} {GRADES_ARE_KEPT}") from error
        if result.warning:
            self.log.warning("%s: %s", student, result.warning)
        graded_notebook = notebook_from_json(result.notebook)
        has_decisions = assignment.course.folders.decisions(assignment.folder).exists()
        decided = apply_regrades(graded_notebook, assignment, student) if has_decisions else {}
        for exercise, points, max_points in result.points:
            self.log.info("%s: %g of %g", exercise, decided.get(exercise, points), max_points)
        write_record(graded_notebook, replace(read_record(graded_notebook), seconds=result.seconds))
        return graded_notebook, resources

    def _copy_beside(self, assignment: Assignment, about: dict[str, str]) -> None:
        """Beside the graded notebook: the assignment's small files, which its text may show, and the time.

        nbgrader compares the time of a submission with that of its last grading.
        """
        coursedir, student = self.parent.parent.coursedir, about["student"]
        folders = folders_of(coursedir)
        folder = folders.autograded(student, about["assignment"])
        submitted = folders.submitted(student, about["assignment"])
        copy_plain_files(assignment.source_path.parent, folder, largest=LARGEST_EXTRA_FILE)
        if coursedir.get_existing_timestamp(str(submitted)) is not None:
            write_small_file(self.parent.handed_in, folder, TIMESTAMP_FILE)
        # What came through nbgrader's exchange holds a secret that its feedback is found by later.
        write_small_file(self.parent.handed_in, folder, EXCHANGE_SECRET)


def write_small_file(handed_in: SubmissionFolder, folder: Path, name: str) -> None:
    """Copy a file of nbgrader's own, if it is there and the student put nothing else in its place."""
    content = handed_in.files.get(name)
    # As nbgrader writes them, and as it must be able to read them again.
    if content is not None and content.isascii() and len(content) <= LONGEST_SMALL_FILE:
        write_replacing(content, folder / name)


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
        together = assignment.course.assignments_in(assignment.folder)
        notebooks = [each.for_student(about["student"]) for each in together]
        forms = {f"{notebook.name}.ipynb": template_of(notebook, self.config) for notebook in notebooks}
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
