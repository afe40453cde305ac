"""The bare limit: a notebook's cells in a fork of an already warm Python, figures rendered, and no more.

Nothing that grades a notebook can take less than running it does.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from nbjudge.cell_metadata import checked_exercise, is_left_out
from nbjudge.course.assignment_forms import grading_template
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_notebook
from nbjudge.judge.scoring import judge_exercise
from nbjudge.kernel.protocol import Reply, read_reply
from nbjudge.probe import respond
from nbjudge.probe.watching import WatchedCalls
from nbjudge.submission.files import Folder
from nbjudge.submission.folder import read_handed_in
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import read_submission

# Which cells are run, and whether the exercises are judged as well, in the same process.
SAME_CELLS, JUDGED, ALL_CELLS = "limit", "limit, judged", "limit, all cells"
SEED = 1


class BareLimit:
    """Runs a submission's cells in a fork of this process.

    The cells are those that the grader would run: the lesson's own with the student's answers.
    """

    def __init__(self, lesson: Assignment, which: str) -> None:
        import matplotlib

        matplotlib.use("agg")
        for module in lesson.modules:
            with contextlib.suppress(ImportError):  # a file beside the notebook
                importlib.import_module(module)
        self._lesson, self._which = lesson, which
        if which == JUDGED:  # the grader, too, loads checks and reference once
            _ = [lesson.reference_answer(name) for name in lesson.exercises]
        self._form = grading_template(
            read_notebook(lesson.source_path),
            read_config(lesson.course.root),
            lesson.exercise_of_cell,
            lesson.source_path.parent,
        )

    def cells(self, submitted: Path) -> list[NotebookNode]:
        """The code cells to be run of the submission in a folder."""
        name = f"{self._lesson.name}.ipynb"
        submission = read_submission(read_handed_in(Folder(submitted), [name]), name, {})
        merged = merge_submission(self._form, submission.cells)
        cells = [cell for cell in merged.cells if cell.cell_type == "code"]
        return [cell for cell in cells if self._which == ALL_CELLS or not is_left_out(cell)]

    def run(self, cells: list[NotebookNode], folder: Path) -> None:
        """Run cells in a fork whose working folder is `folder`. Raises SystemExit where one fails."""
        child = os.fork()
        if child == 0:
            try:
                os.chdir(folder)
                sys.path.insert(0, str(folder))  # where the lesson's own files lie
                self._run(cells)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            raise SystemExit("A cell of the lesson does not run by itself.")

    def _run(self, cells: list[NotebookNode]) -> None:
        import matplotlib.pyplot as plt

        plt.show = _render
        space: dict[str, Any] = {"__name__": "__main__"}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for cell in cells:
                exec(compile(cell.source, "<cell>", "exec"), space)
                _render()
                if self._which == JUDGED and (name := checked_exercise(cell)) is not None:
                    self._judge(name, space)

    def _judge(self, name: str, space: dict[str, Any]) -> None:
        """What the hidden region's `check` does: draw inputs, ask the reference and the answer, compare."""

        def call_answer(_name: str, calls: list[dict[str, Any]], watched_calls: WatchedCalls) -> Reply:
            return read_reply(respond.answer_calls(space[name], calls, watched_calls), len(calls))

        judge_exercise(self._lesson.exercises[name], self._lesson.reference_answer(name), call_answer, SEED)


def _render(*_arguments: Any, **_options: Any) -> None:
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        plt.figure(number).savefig(io.BytesIO(), format="png", bbox_inches="tight")
    plt.close("all")
