"""A grading job: data in, data out. A merged notebook goes in, a graded one comes back.

It is done in the process that asked for it, in another one, or on another machine, and is the
same everywhere: nothing of it is read from or written to the course's own folders but the assignment.
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
from nbjudge.errors import GradingStops, SandboxError
from nbjudge.grading.broken_assignment import warn_of_broken_assignment
from nbjudge.grading.grade import grade, grade_without_running
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.submission.files import copy_plain_files, write_files

NOT_WITH_THESE_FILES = "No kernel could be started with the files of this submission beside the notebook"


class NoKernelError(GradingStops):
    """Not even with nobody's files: it is not this submission's fault, and no other can be graded either."""


@dataclass(frozen=True)
class GradingJob:
    """One notebook to be graded, as plain data."""

    assignment: str  # the name of its notebook
    notebook: str  # the merged notebook as JSON
    seed: int
    environment: KernelEnvironment
    files: Mapping[str, bytes] = field(default_factory=dict)  # the student's own, beside the notebook
    exclude_overwriting: tuple[
        str, ...
    ] = ()  # of these names the student's file counts, not the assignment's
    grade_despite_failing_cells: bool = False


@dataclass(frozen=True)
class GradingResult:
    """The graded notebook as JSON, points by exercise, and how long it took."""

    notebook: str
    points: tuple[tuple[str, float, float], ...]  # exercise, points, points at most
    seconds: float
    warning: str = ""
    assignment_warning: str = ""  # of the assignment itself: the same for the whole class


Executor = Callable[[GradingJob], GradingResult]


def run_job(job: GradingJob, assignment: Assignment) -> GradingResult:
    """Run, ask, judge, and write the verdicts into the notebook.

    Raises NoKernelError if the sandbox cannot start any kernel, BrokenAssignmentError if a given cell fails
    and the solution does not get all points.
    """
    started = time.monotonic()
    notebook, warning, assignment_warning = notebook_from_json(job.notebook), "", ""
    with TemporaryDirectory(prefix="nbjudge-") as folder:
        # The assignment's files first: what is there already stays.
        copy_plain_files(assignment.source_path.parent, Path(folder), leave_out=set(job.exclude_overwriting))
        write_files(job.files, Path(folder))
        try:
            verdicts = grade(notebook, assignment, Path(folder), job.seed, job.environment)
            assignment_warning = warn_of_broken_assignment(
                notebook, assignment, job.seed, job.environment, job.grade_despite_failing_cells
            )
        except SandboxError as error:
            _check_that_kernels_start(job.environment)
            warning = str(error)
            verdicts = grade_without_running(notebook, assignment, f"{NOT_WITH_THESE_FILES} ({error})")
    points = tuple((verdict.exercise, verdict.points, verdict.max_points) for verdict in verdicts)
    seconds = round(time.monotonic() - started, 3)
    return GradingResult(notebook_to_json(notebook), points, seconds, warning, assignment_warning)


def notebook_to_json(notebook: NotebookNode) -> str:
    return json.dumps(notebook)


def notebook_from_json(text: str) -> NotebookNode:
    """The notebook behind `notebook_to_json`. Not nbformat's own reader: the grader's notebooks are sound."""
    notebook: Any = nbformat.from_dict(json.loads(text))
    return notebook


def _check_that_kernels_start(environment: KernelEnvironment) -> None:
    with TemporaryDirectory(prefix="nbjudge-") as folder:
        try:
            with open_kernel(Path(folder), environment):
                return
        except SandboxError as error:
            raise NoKernelError(str(error)) from error
