"""The files around a notebook: what of them is copied where."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

LARGEST_EXTRA_FILE = 10 * 2**20  # bytes
ALL_EXTRA_FILES = 100 * 2**20  # bytes
MOST_EXTRA_FILES = 2_000


def copy_plain_files(
    source: Path, target: Path, leave_out: Collection[str] = (), room: int = ALL_EXTRA_FILES
) -> None:
    """Copy what is a plain file of modest size, see `plain_files`."""
    for relative in plain_files(source, leave_out, room):
        goal = target / relative
        if goal.exists() and not goal.is_file():
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        copy_over(source / relative, goal)


def read_plain_files(source: Path, room: int = ALL_EXTRA_FILES) -> dict[str, bytes]:
    """The content of what is a plain file of modest size, see `plain_files`."""
    content = {}
    for relative in plain_files(source, room=room):
        with suppress(OSError):  # it was there a moment ago
            content[str(relative)] = read_plain_file(source / relative, LARGEST_EXTRA_FILE)
    return content


def write_files(content: Mapping[str, bytes], target: Path) -> None:
    """Write files as `read_plain_files` gives them."""
    for relative, data in content.items():
        goal = target / relative
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_bytes(data)


def plain_files(source: Path, leave_out: Collection[str] = (), room: int = ALL_EXTRA_FILES) -> Iterator[Path]:
    """The plain files of modest size in a folder, from there: no links, no pipes, no notebooks, nothing huge.

    Of thousands of files, or of more bytes than there is `room` for, the first ones.
    """
    files, size = 0, 0
    for folder, folders, names in os.walk(source):  # does not follow links
        folders[:] = [name for name in folders if name not in ("__pycache__", ".ipynb_checkpoints")]
        for file in (Path(folder) / name for name in names):
            about, relative = file.lstat(), file.relative_to(source)
            plain = stat.S_ISREG(about.st_mode) and about.st_size <= LARGEST_EXTRA_FILE
            if not plain or file.suffix == ".ipynb" or str(relative) in leave_out:
                continue
            files, size = files + 1, size + about.st_size
            if files > MOST_EXTRA_FILES or size > room:
                return
            yield relative


def read_plain_file(path: Path, largest: int) -> bytes:
    """The content of a plain file of at most `largest` bytes.

    Raises OSError for what is none: a link, which may lead to another student's work or to the
    solutions, a pipe, which may never end; and for a file that is larger (EFBIG).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        if about.st_size > largest:
            raise OSError(errno.EFBIG, "it is too large")
        return stream.read(largest)


def copy_over(file: Path, goal: Path) -> None:
    """Copy a file to `goal`, which may be there and read-only."""
    goal.unlink(missing_ok=True)  # what an earlier grading left is read-only
    shutil.copyfile(file, goal)
