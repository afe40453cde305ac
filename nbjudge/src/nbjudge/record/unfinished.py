"""Submissions whose grading was ended on its way, which nbgrader takes for graded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from nbjudge.cell_metadata import own_metadata
from nbjudge.record.schema import NotebookRecord
from nbjudge.record.status import Status

END = 2**14  # bytes
BEHIND_THE_CELLS = b'\n "metadata": {'  # the notebook's own: those of cells stand further in


def remove_unfinished(folder: Path, names: Collection[str], whole: bool) -> bool:
    """Take a student's `autograded` folder back to where grading has not begun, if it was never done.

    `names` are the notebooks to be graded; `whole` says that they are all of the folder's. Returns whether
    something was removed.
    """
    unfinished = [name for name in names if not is_finished(folder / f"{name}.ipynb")]
    if not unfinished or not folder.is_dir():
        return False
    if whole:
        shutil.rmtree(folder)
    else:
        for name in unfinished:
            (folder / f"{name}.ipynb").unlink(missing_ok=True)
    return True


def is_finished(notebook: Path) -> bool:
    """Whether it was written whole, and for the last time: after its grades were in the gradebook."""
    record = _read_record(notebook)
    return record is not None and record.status is not Status.UNFINISHED


def recorded_digest(notebook: Path) -> str:
    """The digest of the submission that a graded notebook records; empty if it has none."""
    record = _read_record(notebook)
    return "" if record is None else record.digest


def _read_record(notebook: Path) -> NotebookRecord | None:
    """The record of a graded notebook; None if the notebook was not written whole."""
    try:
        # A notebook's metadata follow its cells, and reading every cell of a class takes seconds.
        with notebook.open("rb") as file:
            file.seek(-min(END, os.fstat(file.fileno()).st_size), os.SEEK_END)
            _, found, behind = file.read().rpartition(BEHIND_THE_CELLS)
        content = json.loads(b"{" + found + behind if found else notebook.read_bytes())
        is_notebook = isinstance(content, dict) and "metadata" in content
        return NotebookRecord.from_data(own_metadata(content)) if is_notebook else None
    except (OSError, ValueError, RecursionError):
        return None
