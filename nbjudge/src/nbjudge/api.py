"""Grade one notebook from Python, without nbgrader's database: `nbjudge.grade_notebook`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nbjudge.course.assignment_forms import answer_cells
from nbjudge.course.configuration import read_config
from nbjudge.course.course import find_course
from nbjudge.errors import CourseError, SandboxError
from nbjudge.grading.grade import grade_without_running
from nbjudge.grading.job import make_job, notebook_from_json, run_job
from nbjudge.judge.verdict import Verdict
from nbjudge.nbgrader_hooks.preprocessors import template_of
from nbjudge.record.graded_cell import Status, read_verdict
from nbjudge.record.graded_notebook import NotebookRecord, write_record
from nbjudge.sandbox.bubblewrap import refusal
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import Folder
from nbjudge.submission.folder import SubmissionFolder
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import read_submission


@dataclass(frozen=True)
class GradedNotebook:
    """The result of one notebook.

    Parameters
    ----------
    assignment
        The assignment and the notebook, such as ``ps1/spread``.
    verdicts
        One verdict per exercise that has checks, in the order of the notebook.
    reason
        Why the notebook could not be run, as a sentence; mostly empty.
    seconds
        How long running and judging took.
    """

    assignment: str
    verdicts: tuple[Verdict, ...]
    reason: str = ""
    seconds: float = 0.0

    @property
    def points(self) -> float:
        """The points of all exercises together."""
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def max_points(self) -> float:
        """The points that all exercises together are worth."""
        return sum(verdict.max_points for verdict in self.verdicts)


def grade_notebook(
    path: str | Path, course: str | Path, assignment: str | None = None, student: str = ""
) -> GradedNotebook:
    """Grade one submitted notebook as in a class, without nbgrader's gradebook.

    The student's answers are merged into the assignment's own notebook, which runs in the sandbox. Nothing
    is written to the course but its grading key. Cells without checks are run, and their points, which
    nbgrader reads from their outputs, are not in the result.

    Parameters
    ----------
    path
        The submitted notebook. Files beside it are not read.
    course
        A folder of the course: one with nbgrader_config.py, or a folder in it.
    assignment
        The assignment or notebook (``ps1``, ``spread`` or ``ps1/spread``); by default the name of the file.
    student
        The student's id. The inputs are drawn from it, from the answers and from the course's key.

    Returns
    -------
    GradedNotebook
        Points, groups and findings of each exercise, as a `Verdict`.

    Raises
    ------
    CourseError
        If there is no such course, assignment or file.
    SettingsError
        If the course's configuration has an unknown option or value.
    SandboxError
        If there is no sandbox on this machine and the course requires one.

    Examples
    --------
    >>> import nbjudge
    >>> result = nbjudge.grade_notebook(solution, course)
    >>> result.points, result.max_points
    (7.0, 7.0)
    >>> [verdict.exercise for verdict in result.verdicts]
    ['deviation', 'standardise']
    >>> result.verdicts[0].findings
    ()
    """
    path = Path(path)
    target = find_course(Path(course)).choose_one(path.stem if assignment is None else assignment)
    config = read_config(target.course.root)
    settings = GradingSettings(config=config)
    reason = refusal() if settings.sandbox else None
    if reason is not None:
        raise SandboxError(reason)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}).") from error
    form = template_of(target, config)
    name = f"{target.name}.ipynb"
    submitted = SubmissionFolder(Folder(path.parent), notebooks={name: content})
    submission = read_submission(submitted, name, answer_cells(form))
    merged = merge_submission(form, submission.cells)
    write_record(merged, NotebookRecord(Status.COMPLETED, submission.reason, submission.note))
    called = f"{target.folder}/{target.name}"
    if submission.reason:
        verdicts = grade_without_running(merged, target, submission.reason)
        return GradedNotebook(called, tuple(verdicts), submission.reason)
    result = run_job(make_job(merged, target, settings, student), target)
    cells = notebook_from_json(result.notebook).cells
    verdicts = [verdict for cell in cells if (verdict := read_verdict(cell)) is not None]
    return GradedNotebook(called, tuple(verdicts), result.warning, result.seconds)
