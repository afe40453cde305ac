"""One run at a time: two of them would write the same folders and the same grades."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbjudge.errors import CourseError

LOCK_FILE = ".grading-lock"


@contextmanager
def exclusive_run(root: Path) -> Iterator[None]:
    """Hold the course's lock, which ends with this process at the latest.

    Raises CourseError where another run holds it, or where the folder cannot be written to.
    """
    try:
        file = os.open(root / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CourseError(f"{root} cannot be written to ({error.strerror}): nothing was graded.") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(file, 20).decode() or "unknown"
            raise CourseError(
                f"Another run is grading this class already (process {other}): let it end, or end it, "
                "and run the same command again."
            ) from None
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        os.close(file)
