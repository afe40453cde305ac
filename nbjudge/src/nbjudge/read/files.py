"""The files around a notebook: which of them count, read once and with care.

Whoever handed them in chose their names, how deep they lie and what they are. So folders are gone
through by descriptor, which no length of a path and no link can lead astray, and only so far.
"""

from __future__ import annotations

import errno
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
LONGEST_PATH = 1_000  # bytes from the folder on: room is left for the folder that it is copied into
CACHE_FOLDERS = {"__pycache__", ".ipynb_checkpoints"}  # folders that Python and Jupyter leave everywhere
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
# What a system says to a name that it has no room or no letters for, or takes for one with another.
_NO_SUCH_NAME = (
    errno.ENAMETOOLONG,
    errno.EINVAL,
    errno.EILSEQ,
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
)


@dataclass(frozen=True)
class Entry:
    """Something in a folder: its path from there, and what the system says of it."""

    path: str
    about: os.stat_result


def entries(folder: Path) -> Iterator[Entry]:
    """All that lies in a folder, what is beside each other first and by name; see the limits above.

    Raises OSError where the folder itself cannot be read.
    """
    seen, waiting = 0, deque([("", 0)])
    while waiting:
        inner, depth = waiting.popleft()
        try:
            found = _list(folder, inner)
        except OSError:
            if not inner:
                raise
            continue  # it was there a moment ago, or is nobody's to read
        for path, about in found:
            seen += 1
            if seen > MOST_ENTRIES:
                return
            yield Entry(path, about)
            if stat.S_ISDIR(about.st_mode) and depth < DEEPEST:
                waiting.append((path, depth + 1))


def read_plain_files(source: Path, room: int = ALL_EXTRA_FILES) -> dict[str, bytes]:
    """The content of the plain files of modest size: no links, no pipes, no notebooks, nothing huge.

    Of thousands of files, or of more bytes than there is `room` for, the first ones. Nothing from a
    folder that is none.
    """
    content: dict[str, bytes] = {}
    size = 0
    for entry in _plain(source):
        with suppress(OSError):  # it was there a moment ago
            data = _read(source, entry.path, LARGEST_EXTRA_FILE)
            size += len(data)
            if size > room or len(content) == MOST_EXTRA_FILES:
                break
            content[entry.path] = data
    return content


def copy_plain_files(source: Path, target: Path, leave_out: Collection[str] = ()) -> None:
    """Copy such files of the course's own, see `read_plain_files`."""
    for entry in _plain(source):
        goal = target / entry.path
        if entry.path in leave_out or (goal.exists() and not goal.is_file()):
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        copy_replacing(source / entry.path, goal)


def write_files(content: Mapping[str, bytes], target: Path) -> None:
    """Write files as `read_plain_files` gives them."""
    for relative, data in content.items():
        goal = target / relative
        try:
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_bytes(data)
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:  # this disk knows fewer names than the one it came from
                raise


def read_plain_file(path: Path, largest: int) -> bytes:
    """The content of a plain file of at most `largest` bytes.

    Raises OSError for what is none: a link, which may lead to another student's work or to the
    solutions, a pipe, which may never end; and for a file that is larger (EFBIG).
    """
    return _content(os.open(path, _FILE), largest)


def copy_replacing(file: Path, goal: Path) -> None:
    """Copy a file to `goal`, which may be there and read-only."""
    goal.unlink(missing_ok=True)  # what an earlier grading left is read-only
    shutil.copyfile(file, goal)


def write_replacing(data: bytes, goal: Path) -> None:
    """Write a file that may be there and read-only."""
    goal.unlink(missing_ok=True)
    goal.write_bytes(data)


def _plain(folder: Path) -> Iterator[Entry]:
    if not folder.is_dir():
        return
    for entry in entries(folder):
        about = entry.about
        if (
            stat.S_ISREG(about.st_mode)
            and about.st_size <= LARGEST_EXTRA_FILE
            and not entry.path.endswith(".ipynb")
        ):
            yield entry


def _list(folder: Path, inner: str) -> list[tuple[str, os.stat_result]]:
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


def _open_folder(folder: Path, inner: str) -> int:
    """A descriptor of a folder within a folder. On the way to it no link is followed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for name in inner.split("/") if inner else ():
        try:
            deeper = os.open(name, _FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def _read(folder: Path, path: str, largest: int) -> bytes:
    inner, _, name = path.rpartition("/")
    descriptor = _open_folder(folder, inner)
    try:
        return _content(os.open(name, _FILE, dir_fd=descriptor), largest)
    finally:
        os.close(descriptor)


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
