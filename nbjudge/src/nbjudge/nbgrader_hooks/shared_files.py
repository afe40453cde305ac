"""Warn about submitted files that are hard links to another submission's or the course's files."""

from __future__ import annotations

import stat
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from nbjudge.course.folders import CourseFolders
from nbjudge.plain_text import plain_line, shown_name
from nbjudge.submission.files import Entry, Folder, entries
from nbjudge.submission.folder import HandedIn

Inode = tuple[int, int]


class SharedFiles:
    """Files of a submission that are hard links to a file in another submission or in the course.

    No archive can hold such a link, but a student with an account on the machine can make one. The files are
    graded, because a file system that stores equal files once has such links too; the person who grades
    gets a warning.
    """

    def __init__(self, folders: CourseFolders, assignment: str) -> None:
        self._folders, self._assignment = folders, assignment

    def warning(self, student: str, handed_in: HandedIn) -> str:
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
        """The owners of each file with several names; computed once per run, when it is first needed."""
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
