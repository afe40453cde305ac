"""Check that grades can be written, before grading and while writing; report failures in one sentence."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbconvert.writers.files import FilesWriter
from sqlalchemy.exc import OperationalError

from nbjudge.course.folders import folders_of
from nbjudge.course.gradebook import sqlite_file, unreachable_reason
from nbjudge.errors import GradingStoppedError

LEAST_FREE_BYTES = 32 * 2**20  # bytes that must be free before a submission is graded
NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
GRADES_ARE_KEPT = "The grades so far are kept: fix this and run the same command again."


class GradedNotebookWriter(FilesWriter):
    """nbconvert's writer, which says in one sentence what could not be written and where."""

    def _makedir(self, path: str, mode: int = 0o755) -> None:
        with exit_on_write_error(Path(path), any_error=True):
            super()._makedir(path, mode)

    def write(self, output: Any, resources: Any, notebook_name: str | None = None, **options: Any) -> Any:
        with exit_on_write_error(Path(self.build_directory), any_error=True):
            return super().write(output, resources, notebook_name=notebook_name, **options)


@contextmanager
def exit_on_write_error(place: Path, any_error: bool = False) -> Iterator[None]:
    """Stop the run with a sentence where the gradebook or a file cannot be written.

    Of the file system's errors those that say so; with `any_error` all.
    """
    try:
        yield
    except OperationalError as error:
        raise GradingStoppedError(
            f"Grading stopped: the gradebook cannot be written ({error.orig}). {GRADES_ARE_KEPT}"
        ) from error
    except OSError as error:
        if not any_error and error.errno not in NOT_WRITTEN:
            raise
        where = error.filename or place
        raise GradingStoppedError(
            f"Grading stopped: {where} cannot be written ({error.strerror}). {GRADES_ARE_KEPT}"
        ) from error


def refuse_unwritable(coursedir: Any, what_happened: str) -> None:
    """Stop the run, with a sentence, where grades cannot be written to nbgrader's folder or gradebook."""
    reason = _obstacle(folders_of(coursedir).by_step()["autograded"], coursedir.db_url)
    if reason is not None:
        raise GradingStoppedError(f"{what_happened} {reason} {GRADES_ARE_KEPT}")


def _obstacle(autograded: Path, database: str) -> str | None:
    places = [_nearest_existing(autograded)]
    unreachable = unreachable_reason(database)
    if unreachable is not None:
        return unreachable
    file = sqlite_file(database)
    if file is not None:
        file = file.absolute()
        places += [place for place in (file, _nearest_existing(file.parent)) if place.exists()]
    for place in places:
        if not os.access(place, os.W_OK):
            return f"{place} cannot be written to: it, or the disk it is on, is read-only for you."
        free = shutil.disk_usage(place).free
        if free < LEAST_FREE_BYTES:
            return (
                f"The disk of {place} is full: {free // 2**20} MiB are free, and grading needs "
                f"{LEAST_FREE_BYTES // 2**20} MiB at least."
            )
    return None


def _nearest_existing(folder: Path) -> Path:
    """The folder itself, or the one in which it would be made."""
    return next(place for place in (folder, *folder.parents) if place.exists())
