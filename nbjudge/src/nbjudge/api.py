"""Grade one notebook from Python, without nbgrader's database: `nbjudge.grade_notebook`."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbjudge.course.assignment_forms import answer_cells, template_of
from nbjudge.course.configuration import read_config
from nbjudge.course.course import find_course
from nbjudge.errors import CourseError
from nbjudge.grading.job import grade_without_running, make_job, notebook_from_json, run_job
from nbjudge.grading.prepare import check_solution, prepare, refuse_problems
from nbjudge.judge.verdict import Verdict
from nbjudge.record.graded_cell import Status, read_verdict
from nbjudge.record.graded_notebook import NotebookRecord, write_record
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import Folder, read_handed_in_file
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
    is written to the course but its grading key, and that its solution was graded. Cells without checks are
    run, and their points, which nbgrader reads from their outputs, are not in the result.

    Parameters
    ----------
    path
        The submitted notebook. Files beside it are not read. As in a class, a link in the place of the file
        or of a folder below `submitted/` (elsewhere of the two folders that the file is in) is not followed.
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
        If there is no such course, assignment or file, if the author must fix the assignment, or if the
        sandbox would show the course to students.
    SettingsError
        If the course's configuration has an unknown option or value.
    SandboxError
        If there is no sandbox on this machine and the course requires one.

    Warns
    -----
    UserWarning
        About settings of the course that weaken the grading, and about points that the assignment's own
        solution loses. It is graded once a day.

    Examples
    --------
    >>> import nbjudge
    >>> result = nbjudge.grade_notebook(solution, course)
    >>> result.points, result.max_points
    (9.0, 9.0)
    >>> [verdict.exercise for verdict in result.verdicts]
    ['deviation', 'standardise', 'relative_spread']
    >>> result.verdicts[0].findings
    ()
    """
    path = Path(os.path.abspath(path))
    target = find_course(Path(course)).choose_one(path.stem if assignment is None else assignment)
    settings = GradingSettings(config=read_config(target.course.root))
    remarks = prepare(target.course, settings)
    refuse_problems([target])
    form = template_of(target, settings.config)
    name = f"{target.name}.ipynb"
    # Below `submitted/`, and elsewhere on two levels, no link is followed.
    base = target.course.folders.by_step()["submitted"]
    if not path.is_relative_to(base):
        base = path.parents[min(2, len(path.parents) - 1)]
    folder = Folder(base, str(path.parent.relative_to(base)))
    try:
        submitted = read_handed_in_file(folder, path.name, name)
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}).") from error
    submission = read_submission(submitted, name, answer_cells(form))
    merged = merge_submission(form, submission.cells)
    write_record(merged, NotebookRecord(Status.COMPLETED, submission.reason, submission.note))
    called = f"{target.folder}/{target.name}"
    if submission.reason:
        verdicts = grade_without_running(merged, target, submission.reason)
        return GradedNotebook(called, tuple(verdicts), submission.reason)
    for remark in [*remarks, *check_solution(target, settings, partial(run_job, assignment=target))]:
        warnings.warn(remark, stacklevel=2)
    result = run_job(make_job(merged, target, settings, student), target)
    cells = notebook_from_json(result.notebook).cells
    verdicts = [verdict for cell in cells if (verdict := read_verdict(cell)) is not None]
    return GradedNotebook(called, tuple(verdicts), result.warning, result.seconds)
