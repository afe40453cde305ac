"""The unit of work: data in, data out. A rebuilt notebook goes in, a graded one comes back.

It is done in the process that asked for it, in another one, or on another machine, and is the
same everywhere: nothing of it is read from or written to the course's own folders but the lesson.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbformat import NotebookNode

from attention_lab.errors import CourseError
from attention_lab.grading.course import Lesson
from attention_lab.grading.files import copy_plain_files, write_files
from attention_lab.grading.grade import grade, refuse
from attention_lab.grading.kernel import student_kernel
from attention_lab.grading.kernel_process import World
from attention_lab.grading.sandbox.forked_kernel import SandboxError

NOT_WITH_THESE_FILES = "No kernel could be started with the files of this submission beside the notebook"


class NoKernelStarts(CourseError):
    """Not even with nobody's files: it is not this submission's fault, and no other can be graded either."""


@dataclass(frozen=True)
class Unit:
    """One notebook to be graded, as plain data."""

    lesson: str  # the name of its notebook
    notebook: str  # the rebuilt notebook as JSON
    seed: int
    world: World
    files: Mapping[str, bytes] = field(default_factory=dict)  # the student's own, beside the notebook
    kept: tuple[str, ...] = ()  # of these names the student's file counts, not the lesson's


@dataclass(frozen=True)
class Done:
    """The graded notebook as JSON, points by exercise, and how long it took."""

    notebook: str
    points: tuple[tuple[str, float, float], ...]  # exercise, points, points at most
    seconds: float
    warning: str = ""


def do(unit: Unit, lesson: Lesson) -> Done:
    """Run, ask, judge, and write the verdicts into the notebook.

    Raises NoKernelStarts where the sandbox gives no kernel to anybody.
    """
    started = time.monotonic()
    notebook, warning = as_notebook(unit.notebook), ""
    with TemporaryDirectory(prefix="attention-lab-") as folder:
        write_files(unit.files, Path(folder))
        copy_plain_files(lesson.source_path.parent, Path(folder), leave_out=set(unit.kept))
        try:
            verdicts = grade(notebook, lesson, Path(folder), unit.seed, unit.world)
        except SandboxError as error:
            _make_sure_that_kernels_start(unit.world)
            warning = str(error)
            verdicts = refuse(notebook, lesson, f"{NOT_WITH_THESE_FILES} ({error})")
    points = tuple((verdict.exercise, verdict.points, verdict.max_points) for verdict in verdicts)
    return Done(as_text(notebook), points, round(time.monotonic() - started, 3), warning)


def as_text(notebook: NotebookNode) -> str:
    return json.dumps(notebook)


def as_notebook(text: str) -> NotebookNode:
    """The notebook behind `as_text`. Not nbformat's own reader: the grader's notebooks are sound."""
    notebook: Any = nbformat.from_dict(json.loads(text))
    return notebook


def _make_sure_that_kernels_start(world: World) -> None:
    with TemporaryDirectory(prefix="attention-lab-") as folder:
        try:
            with student_kernel(Path(folder), world):
                return
        except SandboxError as error:
            raise NoKernelStarts(str(error)) from error
