"""A grading job: a merged notebook goes in, a graded one comes back, both as plain data.

A job is the same in this process, in a worker and on another machine. It reads the assignment's folder and
writes to no folder of the course. Its inputs are drawn from a seed that depends on the submission and on the
course's secret key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbformat import NotebookNode

from nbjudge.course.course import Assignment
from nbjudge.errors import CourseError, NoKernelError, SandboxError
from nbjudge.grading.grade import grade, grade_without_running
from nbjudge.grading.regrades import record_answers
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.kernel.timing import Costs
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import copy_plain_files, plain_file_names, write_files

NOT_WITH_THESE_FILES = "No kernel could be started with the files of this submission beside the notebook"
KEY_FILE = ".grading-key"


@dataclass(frozen=True)
class GradingJob:
    """One notebook to be graded, as plain data."""

    assignment: str  # the name of the assignment's notebook
    notebook: str  # the merged notebook as JSON
    seed: int
    environment: KernelEnvironment
    files: Mapping[str, bytes] = field(default_factory=dict)  # the student's own, by path
    exclude_overwriting: tuple[str, ...] = ()  # names: the student's file is used


@dataclass(frozen=True)
class GradingResult:
    """The graded notebook as JSON, the points by exercise, and the seconds it took."""

    notebook: str
    points: tuple[tuple[str, float, float], ...]  # exercise, points, maximum
    seconds: float
    warning: str = ""
    costs: Costs = field(default_factory=Costs)


Executor = Callable[[GradingJob], GradingResult]


def make_job(
    notebook: NotebookNode,
    assignment: Assignment,
    settings: GradingSettings,
    student: str,
    files: Mapping[str, bytes] | None = None,
    exclude_overwriting: tuple[str, ...] = (),
) -> GradingJob:
    """Make the job of a merged notebook."""
    return GradingJob(
        assignment.name,
        notebook_to_json(notebook),
        # Of the very cells and files that are run: nothing is read twice.
        submission_seed(assignment.course.root, student, notebook, files or {}),
        environment_of(notebook, assignment, settings),
        files or {},
        exclude_overwriting,
    )


def environment_of(
    notebook: NotebookNode, assignment: Assignment, settings: GradingSettings
) -> KernelEnvironment:
    """Return where a notebook is run; the limits are the assignment's, or else the course's."""
    named = notebook.metadata.get("kernelspec", {}).get("name", "python3")
    return KernelEnvironment(
        settings.kernel_names.get(named, named),
        assignment.limits or settings.limits,
        settings.sandbox,
        (*assignment.modules, *settings.modules),
        tuple(settings.exposed_modules),
    )


def run_job(job: GradingJob, assignment: Assignment) -> GradingResult:
    """Run a notebook, judge its answers, and write the verdicts into it.

    If no kernel starts with the student's files, every exercise has 0 points and `warning` says why.
    Raises NoKernelError if none starts without them either.
    """
    started, costs = time.monotonic(), Costs()
    costs.counts["notebooks"] += 1
    with costs.phase("copy and read files"), TemporaryDirectory(prefix="nbjudge-") as folder:
        notebook, warning = notebook_from_json(job.notebook), ""
        # The assignment's files come first: existing files are not replaced.
        copy_plain_files(assignment.source_path.parent, Path(folder), leave_out=set(job.exclude_overwriting))
        write_files(job.files, Path(folder))
        try:
            verdicts = grade(notebook, assignment, Path(folder), job.seed, job.environment, costs)
        except SandboxError as error:
            _check_that_kernels_start(job.environment, assignment)
            warning = str(error)
            verdicts = grade_without_running(notebook, assignment, f"{NOT_WITH_THESE_FILES} ({error})")
        record_answers(notebook, _own_files(job, assignment))
        graded = notebook_to_json(notebook)
    points = tuple((verdict.exercise, verdict.points, verdict.max_points) for verdict in verdicts)
    seconds = round(time.monotonic() - started, 3)
    return GradingResult(graded, points, seconds, warning, costs)


def _own_files(job: GradingJob, assignment: Assignment) -> dict[str, bytes]:
    """A student's files that an answer can depend on: all but those that the assignment replaces."""
    given = set(plain_file_names(assignment.source_path.parent)) - set(job.exclude_overwriting)
    return {path: content for path, content in job.files.items() if path not in given}


def notebook_to_json(notebook: NotebookNode) -> str:
    """Return a notebook as JSON."""
    return json.dumps(notebook)


def notebook_from_json(text: str) -> NotebookNode:
    """Return the notebook that `notebook_to_json` wrote. It is valid, so nbformat need not check it."""
    notebook: Any = nbformat.from_dict(json.loads(text))
    return notebook


def _check_that_kernels_start(environment: KernelEnvironment, assignment: Assignment) -> None:
    """Raise NoKernelError where none starts with the assignment's own files."""
    with TemporaryDirectory(prefix="nbjudge-") as folder:
        copy_plain_files(assignment.source_path.parent, Path(folder))
        try:
            with open_kernel(Path(folder), environment):
                return
        except SandboxError as error:
            raise NoKernelError(str(error)) from error


def submission_seed(root: Path, student: str, notebook: NotebookNode, files: Mapping[str, bytes]) -> int:
    """Return the seed of a submission: the same each time that it is graded, and another for other code.

    The seed depends on all submitted code and files that reach the kernel, and on a key that only the
    course has. So students cannot predict the inputs, nor get inputs again that feedback has shown, with
    other code. Raises CourseError if the file of the key is empty.
    """
    digest = hmac.new(_course_key(root), digestmod=hashlib.sha256)
    for part in _parts(student, notebook, files):
        # With its length, so that no two submissions give the same bytes.
        digest.update(len(part).to_bytes(8, "big") + part)
    return int.from_bytes(digest.digest()[:6], "big")


def _parts(student: str, notebook: NotebookNode, files: Mapping[str, bytes]) -> Iterator[bytes]:
    yield os.fsencode(student)
    yield b"%d cells" % len(notebook.cells)
    for cell in notebook.cells:
        yield cell.cell_type.encode()
        yield cell.source.encode("utf-8", "surrogatepass")
    # Sorted: the order in which a disk lists them does not matter.
    for name, content in sorted((os.fsencode(name), content) for name, content in files.items()):
        yield name
        yield content


def _course_key(root: Path) -> bytes:
    """The course's key, made once and kept beside its gradebook."""
    file = root / KEY_FILE
    if not file.exists():
        # Written to another file and then linked: of several graders one wins, and none reads half a key.
        draft = root / f"{KEY_FILE}-{secrets.token_hex(8)}"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(secrets.token_hex(32))
        with suppress(FileExistsError):
            os.link(draft, file)
        draft.unlink()
    key = file.read_bytes()
    if not key:
        raise CourseError(
            f"{file} is empty: put back this course's key, or delete the file to get a new one."
        )
    return key
