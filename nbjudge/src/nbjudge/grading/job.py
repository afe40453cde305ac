"""A grading job: a merged notebook goes in, a graded one comes back, both as plain data.

A job is the same in this process, in a worker and on another machine. It reads the assignment's folder and
writes to no folder of the course.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbformat import NotebookNode

from nbjudge.course.course import Assignment
from nbjudge.errors import NoKernelError, SandboxError
from nbjudge.grading.broken_assignment import warn_of_broken_assignment
from nbjudge.grading.grade import grade, grade_without_running
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.costs import Costs
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.submission.files import copy_plain_files, write_files

NOT_WITH_THESE_FILES = "No kernel could be started with the files of this submission beside the notebook"


@dataclass(frozen=True)
class GradingJob:
    """One notebook to be graded, as plain data."""

    assignment: str  # the name of the assignment's notebook
    notebook: str  # the merged notebook as JSON
    seed: int
    environment: KernelEnvironment
    files: Mapping[str, bytes] = field(default_factory=dict)  # the student's own, by path
    exclude_overwriting: tuple[str, ...] = ()  # names: the student's file is used
    grade_despite_failing_cells: bool = False


@dataclass(frozen=True)
class GradingResult:
    """The graded notebook as JSON, the points by exercise, and the seconds it took."""

    notebook: str
    points: tuple[tuple[str, float, float], ...]  # exercise, points, maximum
    seconds: float
    warning: str = ""
    assignment_warning: str = ""  # about the assignment itself: the same for the whole class
    costs: Costs = field(default_factory=Costs)


Executor = Callable[[GradingJob], GradingResult]


def run_job(job: GradingJob, assignment: Assignment) -> GradingResult:
    """Run a notebook, judge its answers, and write the verdicts into it.

    Parameters
    ----------
    job
        The notebook and what belongs to it.
    assignment
        The assignment's notebook, with its checks and its reference answers.

    Returns
    -------
    GradingResult
        The graded notebook. If no kernel starts with the student's files, every exercise has 0 points and
        `warning` says why.

    Raises
    ------
    NoKernelError
        If no kernel starts without the student's files either.
    BrokenAssignmentError
        If one of the assignment's own cells fails and its solution does not get all points.
    """
    started, costs = time.monotonic(), Costs()
    costs.counts["notebooks"] += 1
    with costs.phase("copy files, write verdicts"), TemporaryDirectory(prefix="nbjudge-") as folder:
        notebook, warning, assignment_warning = notebook_from_json(job.notebook), "", ""
        # The assignment's files come first: existing files are not replaced.
        copy_plain_files(assignment.source_path.parent, Path(folder), leave_out=set(job.exclude_overwriting))
        write_files(job.files, Path(folder))
        try:
            verdicts = grade(notebook, assignment, Path(folder), job.seed, job.environment, costs)
            assignment_warning = warn_of_broken_assignment(
                notebook, assignment, job.seed, job.environment, job.grade_despite_failing_cells
            )
        except SandboxError as error:
            _check_that_kernels_start(job.environment)
            warning = str(error)
            verdicts = grade_without_running(notebook, assignment, f"{NOT_WITH_THESE_FILES} ({error})")
        graded = notebook_to_json(notebook)
    points = tuple((verdict.exercise, verdict.points, verdict.max_points) for verdict in verdicts)
    seconds = round(time.monotonic() - started, 3)
    return GradingResult(graded, points, seconds, warning, assignment_warning, costs)


def notebook_to_json(notebook: NotebookNode) -> str:
    """Return a notebook as JSON."""
    return json.dumps(notebook)


def notebook_from_json(text: str) -> NotebookNode:
    """Return the notebook that `notebook_to_json` wrote. It is valid, so nbformat need not check it."""
    notebook: Any = nbformat.from_dict(json.loads(text))
    return notebook


def _check_that_kernels_start(environment: KernelEnvironment) -> None:
    with TemporaryDirectory(prefix="nbjudge-") as folder:
        try:
            with open_kernel(Path(folder), environment):
                return
        except SandboxError as error:
            raise NoKernelError(str(error)) from error
