"""The two preprocessors of nbgrader's `Autograde`: merge the submission, then run and judge it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import CheckCellMetadata, NbGraderPreprocessor
from traitlets.config import Config

from nbjudge.cell_metadata import NOTICE_CELL_ID, Origin, mark_origin, recorded_remarks
from nbjudge.course.assignment_forms import template_of
from nbjudge.course.configuration import check_settings
from nbjudge.course.course import Assignment, Course, open_course
from nbjudge.course.folders import folders_of
from nbjudge.course.gradebook import GRADES_ARE_KEPT
from nbjudge.errors import (
    CourseError,
    GradingImpossibleError,
    GradingStoppedError,
    WorkerDiedError,
    stop_on_course_error,
)
from nbjudge.grading.grade import grade_without_running
from nbjudge.grading.job import GradingJob, make_job, notebook_from_json, run_job
from nbjudge.grading.regrades import apply_regrades
from nbjudge.plain_text import as_html
from nbjudge.record.graded_cell import Status
from nbjudge.record.graded_notebook import NotebookRecord, read_record, write_record
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import LARGEST_EXTRA_FILE, TIMESTAMP_FILE, copy_plain_files, write_replacing
from nbjudge.submission.folder import EXCHANGE_SECRET, SubmissionFolder
from nbjudge.submission.merge import has_cell_ids, merge_submission
from nbjudge.submission.read_submission import Submission

LONGEST_SMALL_FILE = 1_000  # bytes
NOTICE = "<p><strong>From the grader:</strong> {}</p>"
_VALID: set[str] = set()  # nbgrader's metadata of notebooks, as JSON


def course_of(coursedir: Any) -> Course:
    """The course that nbgrader has open."""
    return open_course(Path(coursedir.root), folders_of(coursedir))


def assignment_of(coursedir: Any, about: dict[str, str]) -> Assignment:
    """The assignment that `about`, nbgrader's part of the resources, names. CourseError if there is none."""
    course = course_of(coursedir)
    for assignment in course.assignments_in(about["assignment"]):
        if assignment.name == about["notebook"]:
            return assignment
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

    def modules_of(self, assignment: Assignment) -> tuple[str, ...]:
        return (*assignment.modules, *self.modules)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        assignment = assignment_of(self.parent.parent.coursedir, resources["nbgrader"])
        self._copy_beside(assignment, resources["nbgrader"])
        record = replace(read_record(nb), status=Status.COMPLETED)  # written only after the grades are
        write_record(nb, record)
        if record.reason:
            grade_without_running(nb, assignment, record.reason)
            return nb, resources
        job = self._job(nb, assignment, resources["nbgrader"])
        student = resources["nbgrader"]["student"]
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

    def _job(self, nb: NotebookNode, assignment: Assignment, about: dict[str, str]) -> GradingJob:
        excluded = self.parent.parent.exclude_overwriting.get(about["assignment"], [])
        return make_job(
            # The exporter has read the files, with the notebook that is graded.
            nb,
            assignment,
            self,
            about["student"],
            self.parent.files_beside,
            tuple(excluded),
        )

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
