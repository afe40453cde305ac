"""When a submission was handed in: a file of the student's own, which may hold anything."""

from __future__ import annotations

import stat
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

TIMESTAMP_FILE = "timestamp.txt"
Read = Callable[[str], datetime | None]


def has_timestamp(folder: Path) -> bool:
    """Whether a plain file of that name is there: no link, no folder, no pipe."""
    with suppress(OSError):
        about = (folder / TIMESTAMP_FILE).lstat()
        return stat.S_ISREG(about.st_mode) and about.st_size < 1000
    return False


def ignoring_invalid_timestamps(read: Read, log: Any) -> Read:
    """nbgrader's reader, for which a file that tells no time is like none at all."""

    def read_valid(folder: str) -> datetime | None:
        if not has_timestamp(Path(folder)):
            return None
        try:
            return read(folder)
        except (Exception, SystemExit):
            log.warning("%s tells no time and is passed over.", Path(folder) / TIMESTAMP_FILE)
            return None

    return read_valid
