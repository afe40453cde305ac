"""Runs a saved lesson and tells which of its visible tests pass."""

from __future__ import annotations

import copy
import logging
import os
import subprocess
import time
from collections.abc import Callable

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from attention_lab.start.exercises import Outcome, SavedLesson, State

CELL_SECONDS = 60  # one cell may take; training runs are left out
LESSON_SECONDS = 300
LEFT_OUT_TAG = "left-out-of-grading"  # on cells that train or draw at length: no exercise needs them
NEVER_ENDED = "The cell {cell!r} was stopped after {seconds} seconds: look for a loop that never ends."
KERNEL_DIED = "The kernel died in the cell {cell!r}: it ran out of memory, or something ended it."
OUT_OF_TIME = "Not reached: the whole lesson may take {seconds} seconds."
NO_TEST = "Its test cell is gone: rename the folder, and `attention-lab start` brings the lesson afresh."
NOTHING_RETURNED = " (None is what an answer without `return` gives.)"
NOT_WRITTEN = "It is not finished, or calls an exercise that is not: NotImplementedError."

Step = Callable[[int, int], None]  # (cells done, cells in all)


def run_visible_tests(
    lesson: SavedLesson,
    step: Step = lambda done, all_cells: None,
    *,
    cell_seconds: int = CELL_SECONDS,
    lesson_seconds: int = LESSON_SECONDS,
) -> dict[str, Outcome]:
    """Run the notebook in a kernel of its own, in its own folder; the file stays as it is.

    All cells run from top to bottom, whatever fails on the way. A cell that takes `cell_seconds`, or ends
    its kernel, ends the run: the exercises below it fail with the reason.
    """
    notebook = copy.deepcopy(lesson.notebook)
    assert notebook is not None
    stopped = _run(notebook, lesson, step, cell_seconds, lesson_seconds)
    return {exercise: _outcome(lesson, notebook, exercise, stopped) for exercise in lesson.exercises}


def _run(
    notebook: NotebookNode, lesson: SavedLesson, step: Step, cell_seconds: int, lesson_seconds: int
) -> tuple[int, str]:
    """Execute the notebook; returns the first cell that was not, and why (the end, and nothing)."""
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=cell_seconds,
        allow_errors=True,
        skip_cells_with_tag=LEFT_OUT_TAG,
        store_widget_state=False,
        resources={"metadata": {"path": str(lesson.path.parent)}},
        log=logging.getLogger(__name__),
    )
    deadline = time.monotonic() + lesson_seconds
    # Pictures are drawn, as a wrong answer may fail there, but not turned into files.
    environment = os.environ | {"MPLBACKEND": "agg"}
    with client.setup_kernel(env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        for place, cell in enumerate(notebook.cells):
            step(place, len(notebook.cells))
            if time.monotonic() > deadline:
                return place, OUT_OF_TIME.format(seconds=lesson_seconds)
            if cell.cell_type == "code":
                cell.outputs = []
            try:
                client.execute_cell(cell, place)
            except CellTimeoutError:
                return place, NEVER_ENDED.format(cell=_name(cell), seconds=cell_seconds)
            except DeadKernelError:
                return place, KERNEL_DIED.format(cell=_name(cell))
    return len(notebook.cells), ""


def _outcome(lesson: SavedLesson, notebook: NotebookNode, exercise: str, stopped: tuple[int, str]) -> Outcome:
    if exercise in lesson.untouched:
        return Outcome(State.UNTOUCHED)
    place, (first_not_run, reason) = lesson.test_of(exercise), stopped
    if place is None:
        return Outcome(State.FAILS, NO_TEST)
    if place >= first_not_run:
        return Outcome(State.FAILS, reason)
    errors = [output for output in notebook.cells[place].outputs if output.output_type == "error"]
    if not errors:
        return Outcome(State.PASSES)
    name, text = errors[0].ename, str(errors[0].evalue).partition("\n")[0][:240]
    if name == "NotImplementedError":
        return Outcome(State.FAILS, NOT_WRITTEN)
    text = text.removeprefix(f"{exercise}, ")  # the page says itself whose sentence it is
    said = text if name in ("AssertionError", "ExampleFailed") and text else f"{name}: {text}"
    return Outcome(State.FAILS, f"{said}{NOTHING_RETURNED if 'NoneType' in text else ''}")


def _name(cell: NotebookNode) -> str:
    return str(cell.get("id", "without a name"))
