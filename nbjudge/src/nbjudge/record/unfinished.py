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
from nbjudge.record.version_1 import HALF_GRADED

END = 2**14  # bytes
BEHIND_THE_CELLS = b'\n "metadata": {'  # the notebook's own: those of cells stand further in
MAY_BE_UNFINISHED = (f'"{Status.UNFINISHED}"'.encode(), HALF_GRADED.encode())


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
    try:
        # A notebook's metadata stand behind its cells, and to read all of a class takes seconds.
        with notebook.open("rb") as file:
            file.seek(-min(END, os.fstat(file.fileno()).st_size), os.SEEK_END)
            end = file.read()
        if BEHIND_THE_CELLS in end and not any(word in end for word in MAY_BE_UNFINISHED):
            return end.rstrip().endswith(b"}")
        content = json.loads(notebook.read_bytes())
        is_notebook = isinstance(content, dict) and "metadata" in content
        return is_notebook and NotebookRecord.from_data(own_metadata(content)).status is not Status.UNFINISHED
    except (OSError, ValueError, RecursionError):
        return False
