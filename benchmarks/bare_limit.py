"""The bare limit: a notebook's cells in a fork of an already warm Python, figures rendered, and no more.

Nothing that grades a notebook can take less than running it does. The cells are those that the grader would
run: the lesson's own with the student's answers.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from nbjudge.cell_metadata import is_left_out
from nbjudge.course import Assignment, Course, read_config, read_notebook
from nbjudge.course.assignment_forms import grading_template
from nbjudge.submission.files import Folder, read_handed_in
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import read_submission

_seconds_of: Callable[[str], float]  # in a warm process: runs what a student handed in


def warm_up(root: Path, folder: str) -> None:
    """Import what the lesson's cells import, in a process that then calls `run`."""
    import matplotlib

    global _seconds_of
    matplotlib.use("agg")
    (lesson,) = Course(root).assignments_in(folder)
    for module in lesson.modules:
        with contextlib.suppress(ImportError):  # a file beside the notebook
            importlib.import_module(module)
    form = grading_template(
        read_notebook(lesson.source_path),
        read_config(root),
        lesson.exercise_of_cell,
        lesson.source_path.parent,
    )

    def seconds_of(student: str) -> float:
        submitted = lesson.course.folders.submitted(student, lesson.folder)
        cells = _cells(lesson, form, submitted)
        started = time.perf_counter()
        _run_in_fork(cells, submitted)
        return time.perf_counter() - started

    _seconds_of = seconds_of


def run(student: str) -> float:
    """Run the cells of a student, and return the seconds that took."""
    return _seconds_of(student)


def _cells(lesson: Assignment, form: NotebookNode, submitted: Path) -> list[str]:
    name = f"{lesson.name}.ipynb"
    submission = read_submission(read_handed_in(Folder(submitted), [name]), name, {})
    merged = merge_submission(form, submission.cells)
    return [cell.source for cell in merged.cells if cell.cell_type == "code" and not is_left_out(cell)]


def _run_in_fork(cells: list[str], folder: Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            sys.path.insert(0, str(folder))  # where the lesson's own files lie
            _run_cells(cells)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError("A cell of the lesson does not run by itself.")


def _run_cells(cells: list[str]) -> None:
    import matplotlib.pyplot as plt

    plt.show = _render
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for source in cells:
            exec(compile(source, "<cell>", "exec"), space)
            _render()


def _render(*_arguments: Any, **_options: Any) -> None:
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        plt.figure(number).savefig(io.BytesIO(), format="png", bbox_inches="tight")
    plt.close("all")
