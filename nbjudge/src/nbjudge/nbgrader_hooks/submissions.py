"""What nbgrader's `Autograde` is told of submissions: what is a link, what was changed, what is shared."""

from __future__ import annotations

import logging
import stat
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any

from nbjudge.course.folders import CourseFolders, folders_of
from nbjudge.plain_text import plain_line, shown_name
from nbjudge.record.graded_notebook import is_same_content
from nbjudge.submission.files import Entry, Folder, entries, is_reached_by_link
from nbjudge.submission.folder import HandedIn

NOT_FOLLOWED = " (a link, which is not followed)"
NO_NOTEBOOKS = "No notebooks were matched by"
LOOKED_AT_THE_TOP = (
    "nbgrader looks for notebooks at the top of a submission's folder only: `nbjudge grade` also grades a "
    "student who handed in a folder in the folder, a notebook under another name, or a link."
)
Inode = tuple[int, int]


class NamesOtherCommand(logging.Filter):
    """Adds to nbgrader's error that it found no notebook which command grades such submissions.

    nbgrader searches before it makes its exporter, and ends. It has no setting for this.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if record.levelno == logging.ERROR and said.startswith(NO_NOTEBOOKS):
            record.msg, record.args = f"{said}. {LOOKED_AT_THE_TOP}", None
        return True


def hide_links(coursedir: Any) -> None:
    """Have nbgrader find nothing where a submission's folder is reached by a link.

    It would follow the link to look for extra files, in all of the disk if the link leads there, and for
    the time of the submission.
    """
    format_path, folders = coursedir.format_path, folders_of(coursedir)

    def format_path_without_links(step: str, student: str, assignment: str, escape: bool = False) -> str:
        path = str(format_path(step, student, assignment, escape=escape))
        if escape or step != folders.submitted_directory:
            return path
        is_link = is_reached_by_link(folders.submission(student, assignment))
        return f"{path}{NOT_FOLLOWED}" if is_link else path

    coursedir.format_path = format_path_without_links


def regrade_changed(converter: Any, notebooks: Collection[str]) -> None:
    """Have nbgrader grade again what differs from what was graded, whatever its timestamps say."""
    init_destination, folders = converter.init_destination, folders_of(converter.coursedir)

    def init_destination_of_changed(assignment: str, student: str) -> bool:
        submitted, graded = folders.submission(student, assignment), folders.autograded(student, assignment)
        force = converter.force
        with suppress(OSError):  # grading it will say that it cannot be read
            converter.force = force or is_same_content(submitted, graded, notebooks) is False
        try:
            return bool(init_destination(assignment, student))
        finally:
            converter.force = force

    converter.init_destination = init_destination_of_changed


class SharedFiles:
    """Files that are hard links to one in another submission, or to one of the course's own.

    No archive can hold such a link, but an account on the machine can make one. They are graded, because a
    file system that stores equal files once has them as well; the person who grades is told.
    """

    def __init__(self, folders: CourseFolders, assignment: str) -> None:
        self._folders, self._assignment = folders, assignment

    def remark(self, student: str, handed_in: HandedIn) -> str:
        """Name the first shared file of a submission in a sentence; empty if it has none."""
        linked = list(_linked(handed_in.entries))
        inside = Counter(_inode(entry) for entry in linked)
        for entry in linked:
            if entry.about.st_nlink > inside[_inode(entry)]:
                others = sorted(self._owners.get(_inode(entry), set()) - {_of_student(student)})
                if others:
                    return f"{shown_name(entry.path)} is a hard link to a file of {', '.join(others[:3])}."
        return ""

    @cached_property
    def _owners(self) -> dict[Inode, set[str]]:
        """Whose each file is that has several names. Looked at once in a run, and only if one is met."""
        folders, assignment = self._folders, self._assignment
        places = {
            _of_student(student): folders.submission(student, assignment)
            for student in folders.students(assignment)
        }
        places |= {
            f"{path.name}/{assignment}": Folder(path / assignment)
            for path in (folders.source, folders.solution)
        }
        owners = defaultdict(set)
        for owner, place in places.items():
            with suppress(OSError):
                for entry in _linked(entries(place)):
                    owners[_inode(entry)].add(owner)
        return owners


def _linked(found: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in found if stat.S_ISREG(entry.about.st_mode) and entry.about.st_nlink > 1)


def _inode(entry: Entry) -> Inode:
    return entry.about.st_dev, entry.about.st_ino


def _of_student(student: str) -> str:
    return f"the student {plain_line(student)}"
