"""The files around a notebook: which of them count, read once and with care.

The student chose their names, how deep they are nested and what they are. So folders are opened by
descriptor, one level at a time and without following links, and only up to the limits below.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import stat
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

LARGEST_EXTRA_FILE = 10 * 2**20  # bytes
ALL_EXTRA_FILES = 100 * 2**20  # bytes
MOST_EXTRA_FILES = 2_000
MOST_ENTRIES = 20_000  # files and folders that are looked at
DEEPEST = 20  # folders within each other
LONGEST_PATH = 1_000  # bytes below the folder; the folder that it is copied into needs some too
CACHE_FOLDERS = {"__pycache__", ".ipynb_checkpoints"}  # folders that Python and Jupyter leave everywhere
# Windows has none of these flags; a learner's tutor imports this module there but reads no submission.
_DIRECTORY, _NO_LINKS, _NO_WAITING = (
    getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK")
)
_FOLDER = os.O_RDONLY | _DIRECTORY | _NO_LINKS
_FILE = os.O_RDONLY | _NO_LINKS | _NO_WAITING
# Errors for a name that is too long, has characters that the file system lacks, or equals another name.
_NO_SUCH_NAME = (
    errno.ENAMETOOLONG,
    errno.EINVAL,
    errno.EILSEQ,
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
)


@dataclass(frozen=True)
class Folder:
    """A folder that is opened without following a link below `base`; the base itself may be one.

    The levels of `inner`, the way from there, are separated by "/".
    """

    base: Path
    inner: str = ""

    @property
    def path(self) -> Path:
        return self.base / self.inner


@dataclass(frozen=True)
class Entry:
    """Something in a folder: its path from there, and what the system says of it."""

    path: str
    about: os.stat_result


def entries(folder: Folder) -> Iterator[Entry]:
    """Everything in a folder, level by level and by name, up to the limits above.

    Raises OSError if the folder itself cannot be read; its `errno` is ELOOP if a level below the base is
    a link.
    """
    seen, waiting = 0, deque([("", 0)])
    while waiting:
        inner, depth = waiting.popleft()
        try:
            found = _list(folder, inner)
        except OSError:
            if not inner:
                raise
            continue  # it was removed meanwhile, or cannot be read
        for path, about in found:
            seen += 1
            if seen > MOST_ENTRIES:
                return
            yield Entry(path, about)
            if stat.S_ISDIR(about.st_mode) and depth < DEEPEST:
                waiting.append((path, depth + 1))


def is_reached_by_link(folder: Folder) -> bool:
    """Whether the folder, or one that it is in below its base, is a link."""
    try:
        os.close(_open_folder(folder, ""))
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def copy_plain_files(
    source: Path, target: Path, leave_out: Collection[str] = (), largest: float = math.inf
) -> None:
    """Copy the plain files of the course's own folder `source`: no links, no notebooks."""
    for path in plain_file_names(source, largest):
        goal = target / path
        if path in leave_out or (goal.exists() and not goal.is_file()):
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        copy_replacing(source / path, goal)


def plain_file_names(source: Path, largest: float = math.inf) -> list[str]:
    """The paths of the files that `copy_plain_files` copies."""
    return [entry.path for entry in entries(Folder(source)) if is_extra_file(entry, largest)]


def is_extra_file(entry: Entry, largest: float = LARGEST_EXTRA_FILE) -> bool:
    """Whether an entry is a file that belongs beside a notebook: plain, not too large, no notebook."""
    return is_plain_file(entry) and entry.about.st_size <= largest


def is_plain_file(entry: Entry) -> bool:
    """Whether an entry is a file of any size, and no notebook."""
    return stat.S_ISREG(entry.about.st_mode) and not entry.path.endswith(".ipynb")


def write_files(content: Mapping[str, bytes], target: Path) -> None:
    """Write a student's files, by path, into a folder. What is there already stays.

    A name that this disk cannot hold, or takes for another file's, is left out.
    """
    for relative, data in content.items():
        goal = target / relative
        try:
            goal.parent.mkdir(parents=True, exist_ok=True)
            with goal.open("xb") as file:
                file.write(data)
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                raise


def read_file(folder: Folder, path: str, largest: int) -> bytes:
    """Read a plain file in a folder. No link on the way `path` is followed.

    Raises OSError if it is no plain file: a link (ELOOP), which may lead to another student's work or to
    the solutions, or a pipe, which may never end; or if it has more bytes than `largest` (EFBIG).
    """
    inner, _, name = path.rpartition("/")
    descriptor = _open_folder(folder, inner)
    try:
        return _content(os.open(name, _FILE, dir_fd=descriptor), largest)
    finally:
        os.close(descriptor)


def copy_replacing(file: Path, goal: Path) -> None:
    """Copy a file to `goal`, which may be there and read-only."""
    goal.unlink(missing_ok=True)  # what an earlier grading left is read-only
    shutil.copyfile(file, goal)


def write_replacing(data: bytes, goal: Path) -> None:
    """Write a file that may be there and read-only."""
    goal.unlink(missing_ok=True)
    goal.write_bytes(data)


def _list(folder: Folder, inner: str) -> list[tuple[str, os.stat_result]]:
    """What is in the folder `inner` of a folder, by name."""
    descriptor = _open_folder(folder, inner)
    try:
        with os.scandir(descriptor) as found:
            names = [entry.name for entry in islice(found, MOST_ENTRIES)]
        listed = []
        for name in sorted(names, key=os.fsencode):
            path = f"{inner}/{name}" if inner else name
            if name in CACHE_FOLDERS or len(os.fsencode(path)) > LONGEST_PATH:
                continue
            with suppress(OSError):
                listed.append((path, os.stat(name, dir_fd=descriptor, follow_symlinks=False)))
        return listed
    finally:
        os.close(descriptor)


def _open_folder(folder: Folder, inner: str) -> int:
    """A descriptor of a folder within a folder. Below the base no link on the way is followed."""
    descriptor = os.open(folder.base, os.O_RDONLY | _DIRECTORY)
    for name in filter(None, f"{folder.inner}/{inner}".split("/")):
        try:
            deeper = os.open(name, _FOLDER, dir_fd=descriptor)
        except NotADirectoryError:
            # Of a link, Linux says that it is not a directory, and other systems that it is a link.
            if stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, "it is a link", name) from None
            raise
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def _content(descriptor: int, largest: int) -> bytes:
    """What a descriptor holds, which is closed."""
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        if about.st_size <= largest:
            with open(descriptor, "rb", closefd=False) as stream:
                content = stream.read(largest + 1)
            if len(content) <= largest:  # it may have grown meanwhile
                return content
        raise OSError(errno.EFBIG, "it is too large")
    finally:
        os.close(descriptor)


TIMESTAMP_FILE = "timestamp.txt"


def has_timestamp(folder: Path) -> bool:
    """Whether a plain file of that name is there: no link, no folder, no pipe."""
    with suppress(OSError):
        about = (folder / TIMESTAMP_FILE).lstat()
        return stat.S_ISREG(about.st_mode) and about.st_size < 1000
    return False
