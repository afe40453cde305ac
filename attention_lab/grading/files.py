"""The files around a notebook: what of them is copied where."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection
from pathlib import Path

LARGEST_EXTRA_FILE = 10 * 2**20  # bytes


def copy_plain_files(source: Path, target: Path, leave_out: Collection[str] = ()) -> None:
    """Copy what is a plain file of modest size: no links, no pipes, no notebooks, nothing huge."""
    for folder, folders, names in os.walk(source):  # does not follow links
        folders[:] = [name for name in folders if name not in ("__pycache__", ".ipynb_checkpoints")]
        for file in (Path(folder) / name for name in names):
            about, relative = file.lstat(), file.relative_to(source)
            plain = stat.S_ISREG(about.st_mode) and about.st_size <= LARGEST_EXTRA_FILE
            if not plain or file.suffix == ".ipynb" or str(relative) in leave_out:
                continue
            goal = target / relative
            if goal.exists() and not goal.is_file():
                continue
            goal.parent.mkdir(parents=True, exist_ok=True)
            copy_over(file, goal)


def copy_over(file: Path, goal: Path) -> None:
    """Copy a file to `goal`, which may be there and read-only."""
    goal.unlink(missing_ok=True)  # what an earlier grading left is read-only
    shutil.copyfile(file, goal)
