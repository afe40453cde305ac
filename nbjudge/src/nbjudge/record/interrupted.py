"""A run that was ended on its way leaves a submission half graded, which nbgrader takes for graded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

HALF_GRADED = "half_graded"  # in a notebook's metadata from its first writing to its last
END = 2**14  # bytes
BEHIND_THE_CELLS = b'\n "metadata": {'  # the notebook's own: those of cells stand further in
GRADED_AGAIN = "%s: an earlier run ended before it was done with this submission; it is graded again."


def forget_half_graded(folder: Path, names: Collection[str], whole: bool, log: Any) -> None:
    """Take a student's `autograded` folder back to where grading has not begun, if it was never done.

    `names` are the notebooks to be graded; `whole` says that they are all of the folder's.
    """
    unfinished = [name for name in names if not is_done(folder / f"{name}.ipynb")]
    if not unfinished or not folder.is_dir():
        return
    log.warning(GRADED_AGAIN, folder.parent.name)
    if whole:
        shutil.rmtree(folder)
    else:
        for name in unfinished:
            (folder / f"{name}.ipynb").unlink(missing_ok=True)


def is_done(notebook: Path) -> bool:
    """Whether it was written whole, and for the last time: after its grades were in the gradebook."""
    try:
        # A notebook's metadata stand behind its cells, and to read all of a class takes seconds.
        with notebook.open("rb") as file:
            file.seek(-min(END, os.fstat(file.fileno()).st_size), os.SEEK_END)
            end = file.read()
        if HALF_GRADED.encode() not in end and BEHIND_THE_CELLS in end:
            return end.rstrip().endswith(b"}")
        content = json.loads(notebook.read_bytes())
        return not content["metadata"].get("nbjudge", {}).get(HALF_GRADED)
    except (OSError, ValueError, KeyError, AttributeError):
        return False
