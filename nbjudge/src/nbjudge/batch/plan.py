"""Which submissions are new or were changed since they were graded.

Looks at files only, and imports neither nbgrader nor torch: where there is nothing to do, a class
of a thousand is done with in a moment.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.read.files import entries
from nbjudge.read.timestamps import TIMESTAMP_FILE, has_timestamp
from nbjudge.record.unfinished import is_finished

Why = Literal["new", "changed", "again"]


@dataclass(frozen=True)
class Plan:
    """What there is to do: students with the reason, and how many are graded already."""

    folders: CourseFolders
    assignment: str
    todo: dict[str, Why]
    unchanged: int


def make_plan(
    folders: CourseFolders, assignment: str, students: str | Collection[str] = "*", force: bool = False
) -> Plan:
    """Which of the students that match the pattern, or are named in a collection, are to be graded.

    Raises CourseError where the lesson is missing, nobody handed it in, or nobody matches.
    """
    known = folders.assignments()
    if assignment not in known:
        # As on the other commands, the notebook's own name will do.
        named = {path.stem: path.parent.name for path in folders.source_notebooks()}
        if assignment not in named:
            raise CourseError(f"There is no lesson {assignment!r}. There are: {', '.join(known) or 'none'}.")
        assignment = named[assignment]
    handed_in = folders.students(assignment)
    if not handed_in:
        where = folders.submitted("STUDENT", assignment)
        raise CourseError(
            f"Nobody has handed in {assignment}: there is no folder {where}. Collect it with "
            f"`nbgrader collect {assignment}`, or put each student's files into such a folder."
        )
    chosen = [student for student in handed_in if _is_chosen(student, students)]
    if not chosen:
        raise CourseError(
            f"None of the {len(handed_in)} students who handed in {assignment} matches {students!r}; "
            f"the first is {handed_in[0]!r}."
        )
    notebooks = folders.notebook_names(assignment)
    reasons = {student: _why(folders, assignment, notebooks, student, force) for student in chosen}
    todo = {student: why for student, why in reasons.items() if why is not None}
    return Plan(folders, assignment, todo, len(chosen) - len(todo))


def _is_chosen(student: str, students: str | Collection[str]) -> bool:
    return fnmatchcase(student, students) if isinstance(students, str) else student in students


def _why(
    folders: CourseFolders, assignment: str, notebooks: list[str], student: str, force: bool
) -> Why | None:
    """Why this submission is to be graded; None where it need not be."""
    submitted = folders.submitted(student, assignment)
    graded = folders.autograded(student, assignment)
    done = [graded / name for name in notebooks]
    if not all(is_finished(notebook) for notebook in done):
        return "new"
    if force:
        return "again"
    if has_timestamp(submitted) and not _same_time(submitted, graded):
        return "changed"
    last = min(notebook.stat().st_mtime_ns for notebook in done)
    try:
        return "changed" if any(moment > last for moment in _change_times(submitted)) else None
    except OSError:  # it cannot be read, which grading it will say
        return "changed"


def _same_time(submitted: Path, graded: Path) -> bool:
    if not has_timestamp(graded):
        return False
    return (submitted / TIMESTAMP_FILE).read_bytes() == (graded / TIMESTAMP_FILE).read_bytes()


def _change_times(folder: Path) -> Iterator[int]:
    """When each file was put here, not when it was last written: a copy may keep the older time."""
    if not folder.is_dir():
        yield os.lstat(folder).st_ctime_ns
        return
    for entry in entries(folder):
        if not stat.S_ISDIR(entry.about.st_mode):
            yield entry.about.st_ctime_ns
