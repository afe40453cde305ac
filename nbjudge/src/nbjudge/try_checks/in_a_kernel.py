"""The solution of an assignment, graded once as a student's work is: its whole notebook runs in a kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from nbformat import NotebookNode
from rich.console import Console

from nbjudge.cell_metadata import checked_exercise
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment
from nbjudge.errors import SandboxError
from nbjudge.grading.grade import grade
from nbjudge.grading.job import environment_of
from nbjudge.grading.solution import solved_form
from nbjudge.sandbox.bubblewrap import refusal
from nbjudge.settings import GradingSettings
from nbjudge.submission.files import copy_plain_files

SEED = 0  # on which the solution is also called in this process
PROGRESS = "Running {notebook} with its solution in a student's kernel, as far as the last test …"
LONGEST = 200  # characters of a verdict
LOST = (
    "The solution of `{name}` gets {points:g} of {max_points:g} points in a student's kernel, where the "
    "whole notebook runs: “{message}” Look for a name that the answer's cell and a later cell both set, "
    "and for a cell that fails."
)
SKIPPED = "The solution was not run in a student's kernel: {reason}"


def problems_in_a_kernel(
    assignment: Assignment, exercises: Collection[str], console: Console
) -> Iterator[str]:
    """Grade the solution once, and say in a sentence each what it loses in some of the exercises.

    Without a sandbox, where the course requires one, it is not run, and the console says so.
    """
    config = read_config(assignment.course.root)
    settings = GradingSettings(config=config)
    reason = refusal() if settings.sandbox else None
    if reason is not None:
        console.print(SKIPPED.format(reason=reason), soft_wrap=True, markup=False)
        return
    notebook = _solution(assignment, exercises, settings)
    environment = environment_of(notebook, assignment, settings)
    with console.status(PROGRESS.format(notebook=assignment.name)), TemporaryDirectory() as folder:
        copy_plain_files(assignment.source_path.parent, Path(folder))
        try:
            verdicts = grade(notebook, assignment, Path(folder), SEED, environment)
        except SandboxError as error:
            console.print(SKIPPED.format(reason=error), soft_wrap=True, markup=False)
            return
    for verdict in verdicts:
        if verdict.exercise in exercises and verdict.points < verdict.max_points:
            yield LOST.format(
                name=verdict.exercise,
                points=verdict.points,
                max_points=verdict.max_points,
                message=verdict.message[:LONGEST],
            )


def _solution(assignment: Assignment, exercises: Collection[str], settings: GradingSettings) -> NotebookNode:
    """Return what is run for a grade, with the solution's answers, as far as the last of the exercises."""
    notebook = solved_form(assignment, settings.config)
    tests = [at for at, cell in enumerate(notebook.cells) if checked_exercise(cell) in exercises]
    notebook.cells = notebook.cells[: max(tests, default=-1) + 1]
    return notebook
