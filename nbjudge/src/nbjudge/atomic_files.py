"""Files that are replaced whole or not at all, also where a disk is full."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(file: Path, content: bytes, mode: int | None = None) -> None:
    """Write a file in place of the one that is there.

    Parameters
    ----------
    file
        The file; its folder exists.
    content
        What it holds afterwards.
    mode
        Its permissions; by default those of a new file.

    Raises
    ------
    OSError
        If it cannot be written. The file is then as it was.
    """
    draft = file.with_name(f"{file.name}.part-{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        draft.touch(0o666 if mode is None else mode)  # from the start: a key is readable by no one else
        draft.write_bytes(content)
        if mode is not None:
            draft.chmod(mode)
        draft.replace(file)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
