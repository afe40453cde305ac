"""The folder of a submission: which files of it count, read once, as plain data and within bounded memory.

The student chose their names, how deep they are nested and what they are. So folders are opened by
descriptor, one level at a time and without following links, and only up to the limits below. Grading,
recording and comparing use this content only. A notebook's outputs are thrown away while it is read. An
honest file is large because of them, and a small one can be made that grows a hundredfold in memory: so the
lists and entries in it are counted before.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import shutil
import stat
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from nbjudge.plain_text import first_few, plain_line, shown_name

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
    """Return whether the folder, or one that it is in below its base, is a link."""
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
        goal.unlink(missing_ok=True)  # what an earlier grading left is read-only
        shutil.copyfile(source / path, goal)


def plain_file_names(source: Path, largest: float = math.inf) -> list[str]:
    """The paths of the files that `copy_plain_files` copies."""
    return [entry.path for entry in entries(Folder(source)) if is_extra_file(entry, largest)]


def is_extra_file(entry: Entry, largest: float = LARGEST_EXTRA_FILE) -> bool:
    """Return whether an entry is a file that belongs beside a notebook: plain, not too large, no notebook."""
    return is_plain_file(entry) and entry.about.st_size <= largest


def is_plain_file(entry: Entry) -> bool:
    """Return whether an entry is a file of any size, and no notebook."""
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


def write_replacing(data: bytes, goal: Path) -> None:
    """Write a file that may be there and read-only."""
    goal.unlink(missing_ok=True)
    goal.write_bytes(data)


def _list(folder: Folder, inner: str) -> list[tuple[str, os.stat_result]]:
    """Return what is in the folder `inner` of a folder, by name."""
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
    """Return what a descriptor holds, which is closed."""
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
    """Return whether a plain file of that name is there: no link, no folder, no pipe."""
    with suppress(OSError):
        about = (folder / TIMESTAMP_FILE).lstat()
        return stat.S_ISREG(about.st_mode) and about.st_size < 1000
    return False


LARGEST_NOTEBOOK = 64 * 2**20  # bytes; outputs of a few hours of training are in it
MOST_CANDIDATES = 20  # notebooks of other names that are read
ALL_CANDIDATES = 128 * 2**20  # bytes
EXCHANGE_SECRET = "submission_secret.txt"  # nbgrader's name for it
# A browser or a mail program may have put something behind the name of a notebook.
NOTEBOOK_ENDINGS = (".ipynb", ".ipynb.txt", ".ipynb.json")


@dataclass(frozen=True)
class SubmissionFolder:
    """The folder of one submission, with the contents by path."""

    folder: Folder
    obstacle: str = ""  # completes "No notebook … was handed in" if there is no folder to read
    entries: tuple[Entry, ...] = ()  # whether they were read or not
    notebooks: Mapping[str, bytes | OSError] = field(default_factory=dict)  # or why one could not be read
    files: Mapping[str, bytes] = field(default_factory=dict)  # other plain ones up to the limits
    left_out: tuple[str, ...] = ()  # the files beyond these limits
    digest: str = ""  # differs whenever a name, a kind or a content in the folder differs

    @property
    def names(self) -> list[str]:
        """The names at the top level of the folder."""
        return [entry.path for entry in self.entries if "/" not in entry.path]

    @property
    def links(self) -> list[str]:
        """The paths of the links in it; links are never followed."""
        return [entry.path for entry in self.entries if stat.S_ISLNK(entry.about.st_mode)]


def read_handed_in(folder: Folder, notebooks: Collection[str] = ()) -> SubmissionFolder:
    """Read what was handed in; the assignment's `notebooks`, by file name, whatever else is there.

    Raises OSError if the grader may not read the folder, or the system fails: not the student's fault.
    """
    try:
        found = tuple(entries(folder))
    except OSError as error:
        obstacle = _obstacle(folder, error)
        return SubmissionFolder(folder, obstacle, digest=hashlib.sha256(obstacle.encode()).hexdigest())
    read = _read_notebooks(folder, found, set(notebooks))
    files, left_out = _read_extra_files(folder, found)
    return SubmissionFolder(folder, "", found, read, files, left_out, _digest(found, read, files))


def read_handed_in_file(folder: Folder, file: str, name: str) -> SubmissionFolder:
    """Read one file as the notebook `name` of a submission; what else is in its folder is not looked at.

    Raises OSError if there is no such file, or the grader may not read it: not the student's fault.
    """
    content: bytes | OSError
    try:
        content = read_file(folder, file, LARGEST_NOTEBOOK)
    except OSError as error:
        if error.errno in (errno.ENOENT, *NOT_THE_STUDENTS):
            raise
        if is_reached_by_link(folder):
            return SubmissionFolder(folder, _obstacle(folder, error))
        content = error
    return SubmissionFolder(folder, notebooks={name: content})


def notebook_stem(name: str) -> str:
    """A notebook's name in lower case, without the ending; all of it if it has none of a notebook's."""
    name = name.lower()
    return next((name.removesuffix(end) for end in NOTEBOOK_ENDINGS if name.endswith(end)), name)


def files_beside(
    handed_in: SubmissionFolder, notebook: str, given: Collection[str], limit: int = ALL_EXTRA_FILES
) -> tuple[dict[str, bytes], str]:
    """Files of the submission, by path, that are put beside a notebook of it while it runs, and a note.

    What is in the notebook's own folder is put beside it. The assignment's files (`given`) leave no place
    for some, others are beyond the `limit` of bytes or links, which are never followed: the note names
    these. nbgrader's own files are left out too, because they differ between students who handed in the
    same.
    """
    inner = notebook.rpartition("/")[0]
    moved = {p.removeprefix(f"{inner}/"): c for p, c in handed_in.files.items() if p.startswith(f"{inner}/")}
    rest = {p: c for p, c in handed_in.files.items() if not inner or not p.startswith(f"{inner}/")}
    files = moved | {path: content for path, content in rest.items() if path not in moved}
    taken = {parent for path in given for parent in _parents(path)}
    clashing = [path for path in files if path in taken or not set(given).isdisjoint(_parents(path))]
    for path in (*clashing, TIMESTAMP_FILE, EXCHANGE_SECRET):
        files.pop(path, None)
    sizes = {entry.path: entry.about.st_size for entry in handed_in.entries}
    # The assignment has its own copy of what it gave out.
    left_out = [path for path in handed_in.left_out if path.removeprefix(f"{inner}/") not in given]
    large = [path for path in left_out if sizes[path] > LARGEST_EXTRA_FILE]
    others = [path for path in left_out if sizes[path] <= LARGEST_EXTRA_FILE]
    size = 0
    for path in list(files):
        size += len(files[path])
        if size > limit:
            size -= len(files.pop(path))
            others.append(path)
    notes = {
        "the assignment has a file or folder of that name": clashing,
        "links are not followed": handed_in.links,
        f"a file beside the notebook may have {LARGEST_EXTRA_FILE // 2**20} MiB": large,
        f"{MOST_EXTRA_FILES:,} files of {limit // 2**20} MiB together may be beside a notebook": others,
    }
    sentences = [
        f"{first_few([*map(shown_name, paths)])} {'was' if len(paths) == 1 else 'were'} left out: {why}."
        for why, paths in notes.items()
        if paths
    ]
    if len(handed_in.entries) >= MOST_ENTRIES:
        sentences.append(f"Only the first {MOST_ENTRIES:,} files and folders were looked at.")
    return files, " ".join(sentences)


def _parents(path: str) -> list[str]:
    """The folders that a path is in: of "a/b/c" "a" and "a/b"."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _obstacle(folder: Folder, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return f": {shown_name(str(error.filename))} is a link, which the grader does not follow"
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENXIO):
        name = shown_name(folder.path.name)
        return f": {name} is not a folder" if os.path.lexists(folder.path) else ": there is no folder"
    raise error


def _read_notebooks(
    folder: Folder, found: Collection[Entry], expected: Collection[str]
) -> dict[str, bytes | OSError]:
    read: dict[str, bytes | OSError] = {}
    others = size = 0
    for entry in found:
        if not entry.path.lower().endswith(NOTEBOOK_ENDINGS):
            continue
        if entry.path not in expected:
            if stat.S_ISDIR(entry.about.st_mode):
                continue
            others, size = others + 1, size + entry.about.st_size
            if others > MOST_CANDIDATES or size > ALL_CANDIDATES:
                continue
        try:
            read[entry.path] = read_file(folder, entry.path, LARGEST_NOTEBOOK)
        except OSError as error:
            read[entry.path] = error
    return read


def _read_extra_files(folder: Folder, found: Collection[Entry]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The plain files up to the limits, and the paths of the others."""
    files: dict[str, bytes] = {}
    left_out = []
    size = 0
    for entry in sorted(filter(is_plain_file, found), key=lambda entry: not entry.path.endswith(".py")):
        is_within = size + entry.about.st_size <= ALL_EXTRA_FILES and len(files) < MOST_EXTRA_FILES
        if not is_extra_file(entry) or not is_within:
            left_out.append(entry.path)
            continue
        with suppress(OSError):  # it was there a moment ago
            files[entry.path] = read_file(folder, entry.path, LARGEST_EXTRA_FILE)
            size += len(files[entry.path])
    return files, tuple(left_out)


def _digest(
    found: Collection[Entry], notebooks: Mapping[str, bytes | OSError], files: Mapping[str, bytes]
) -> str:
    digest = hashlib.sha256()
    for entry in sorted(found, key=lambda entry: os.fsencode(entry.path)):
        content = notebooks.get(entry.path, files.get(entry.path))
        if isinstance(content, bytes):
            parts = [b"read", hashlib.sha256(content).digest()]
        elif stat.S_ISREG(entry.about.st_mode):  # too large, or one too many
            parts = [b"not read", b"%d" % entry.about.st_size]
        else:
            parts = [b"other", b"%o" % stat.S_IFMT(entry.about.st_mode)]
        for part in (os.fsencode(entry.path), *parts):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


MOST_GROUPS = 300_000  # lists and mappings; a cell has about ten
MOST_NAMES = 500_000  # of entries in mappings; a cell has about ten
MOST_MARKS = 6_000_000  # those, texts, and the commas between them: a printed line is two
# A text never fails once it has begun, so that one without an end is gone through once.
MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{,:]', re.DOTALL)
CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)  # a line that Git puts around what it cannot merge
ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!")  # how they begin
NOT_THE_STUDENTS = (errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
OUT_OF_REACH = (
    "{} was not graded, as it cannot be read ({}): make it readable and run the same command again."
)


class UnreadableFileError(Exception):
    """Completes the sentence "The file NAME ..."."""


class OutOfReachError(Exception):
    """The grader cannot get at what was handed in, in a sentence: that is no student's fault."""


def read_notebook_file(raw: bytes | OSError) -> dict[str, Any]:
    """Read a notebook's file without outputs; `raw` is its content, or why that could not be read.

    Raises UnreadableFileError if it is no notebook, OutOfReachError if the grader could not read it.
    """
    if isinstance(raw, OSError):
        raise _unread(raw) from raw
    if raw.startswith(ARCHIVES):
        raise UnreadableFileError("is not a notebook but an archive: unpack it and hand in the notebook")
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        text = raw.decode(encoding).strip("\ufeff \r\n\t")
    except UnicodeDecodeError as error:
        raise UnreadableFileError("is not a notebook: it is not text") from error
    if not text:
        raise UnreadableFileError("is empty")
    _refuse_memory_bomb(raw if encoding == "utf-8" else text.encode("utf-8", "surrogatepass"))
    del raw
    content = _parsed(text)
    if not isinstance(content, dict):
        raise UnreadableFileError("is not a notebook: it holds no cells")
    return content


def _unread(error: OSError) -> Exception:
    if error.errno == errno.EFBIG:
        return UnreadableFileError(
            f"is larger than {LARGEST_NOTEBOOK // 2**20} MiB: clear its outputs and try again"
        )
    if error.errno == errno.ELOOP:
        return UnreadableFileError("is a link, not a file: hand in the notebook itself")
    if error.errno in NOT_THE_STUDENTS:
        return OutOfReachError(f"{error.strerror}")
    return UnreadableFileError(f"cannot be read: {error.strerror}")


def _refuse_memory_bomb(raw: bytes) -> None:
    marks = Counter(raw[found.start()] for found in islice(MARK.finditer(raw), MOST_MARKS + 1))
    groups, names = marks[ord("[")] + marks[ord("{")], marks[ord(":")]
    if marks.total() > MOST_MARKS or groups > MOST_GROUPS or names > MOST_NAMES:
        raise UnreadableFileError("holds more entries than any notebook: clear its outputs and try again")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_hook=_without_outputs)
    except json.JSONDecodeError as error:
        if conflict := CONFLICT.search(text):
            line = text.count("\n", 0, conflict.start()) + 1
            raise UnreadableFileError(
                f"holds Git's conflict markers ({conflict.group().strip()!r} in line {line}): resolve the "
                "conflict and hand it in again"
            ) from error
        if text.startswith("<"):
            raise UnreadableFileError(
                "is not a notebook but a web page: download the notebook itself and hand that in"
            ) from error
        # An unterminated string is reported where it starts, anything else where the text ends.
        at_the_end = error.msg.startswith("Unterminated") or error.pos >= len(text) - 1
        if text.startswith("{") and at_the_end:
            raise UnreadableFileError("breaks off in the middle") from error
        raise UnreadableFileError(
            f"is not a notebook: {plain_line(error.msg)} in line {error.lineno}"
        ) from error
    except ValueError as error:
        raise UnreadableFileError("is not a notebook: it holds a number of thousands of digits") from error
    except RecursionError as error:
        raise UnreadableFileError("is not a notebook: it is nested too deeply") from error


def _without_outputs(found: dict[str, Any]) -> dict[str, Any]:
    if "outputs" in found:
        found["outputs"] = []  # older formats cannot be converted without
    return found
