"""Which submissions are new or were changed since they were graded.

Looks at files only, and imports neither nbgrader nor torch: where there is nothing to do, a class
of a thousand is done with in a moment.
"""

from __future__ import annotations

import stat
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from nbjudge.course.configuration import suggestion
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.record.graded_notebook import is_finished, is_same_content
from nbjudge.submission.files import TIMESTAMP_FILE, Folder, entries, has_timestamp

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

    Raises CourseError where the assignment is missing, no student handed it in, or none matches.
    """
    known = folders.assignments()
    if assignment not in known:
        # As on the other commands, the notebook's own name will do.
        named = {path.stem: path.parent.name for path in folders.source_notebooks()}
        if assignment not in named:
            raise CourseError(f"There is no assignment {assignment!r}. {suggestion(assignment, known)}")
        assignment = named[assignment]
    handed_in = folders.students(assignment)
    if not handed_in:
        where = folders.submitted("STUDENT", assignment)
        raise CourseError(
            f"No student has handed in {assignment}: there is no folder {where}. Collect it with "
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
    submitted, graded = folders.submission(student, assignment), folders.autograded(student, assignment)
    done = [graded / name for name in notebooks]
    if not all(is_finished(notebook) for notebook in done):
        return "new"
    if force:
        return "again"
    try:
        is_same = is_same_content(submitted, graded, notebooks)
        if is_same is None:
            is_same = not _has_later_times(submitted, graded, done)
    except OSError:  # it cannot be read, which grading it will say
        return "changed"
    return None if is_same else "changed"


def _has_later_times(submitted: Folder, graded: Path, done: list[Path]) -> bool:
    """Compare times, where a version of this package graded it that recorded no digest."""
    if has_timestamp(submitted.path) and not _same_time(submitted.path, graded):
        return True
    last = min(notebook.stat().st_mtime_ns for notebook in done)
    # When each file was put here, not when it was last written: a copy may keep the older time.
    files = (entry for entry in entries(submitted) if not stat.S_ISDIR(entry.about.st_mode))
    return any(entry.about.st_ctime_ns > last for entry in files)


def _same_time(submitted: Path, graded: Path) -> bool:
    if not has_timestamp(graded):
        return False
    return (submitted / TIMESTAMP_FILE).read_bytes() == (graded / TIMESTAMP_FILE).read_bytes()
