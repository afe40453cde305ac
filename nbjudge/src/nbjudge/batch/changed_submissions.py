"""Which submissions are new or were changed since they were graded.

Looks at files only, and imports neither nbgrader nor torch: where there is nothing to do, a class
of a thousand is done with in a moment.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from nbjudge.course.configuration import suggestion
from nbjudge.course.course import changed_sentence, open_course
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.record.graded_notebook import changed_material, is_finished, is_same_content

Why = Literal["new", "changed", "again"]


@dataclass(frozen=True)
class Plan:
    """The work of a run: students with the reason, and how many are graded already."""

    folders: CourseFolders
    assignment: str
    todo: dict[str, Why]
    unchanged: int
    outdated: int = 0  # how many of these were graded before their assignment changed
    changed: frozenset[str] = frozenset()  # what has changed of it, by path

    @property
    def warning(self) -> str:
        """Return what to do about outdated grades, as a sentence; empty if there are none."""
        if not self.outdated:
            return ""
        return changed_sentence(self.assignment, self.outdated, self.changed, "nbjudge grade")


def make_plan(
    folders: CourseFolders, assignment: str, students: str | Collection[str] = "*", force: bool = False
) -> Plan:
    """Return which of the students that match the pattern, or are named in a collection, are to be graded.

    Raises CourseError where the assignment is missing, no student handed it in, or none matches.
    """
    assignment = assignment_name(folders, assignment)
    handed_in = folders.students(assignment)
    if not handed_in:
        where = folders.submitted("STUDENT", assignment)
        raise CourseError(
            f"No student has handed in {assignment}: there is no folder {where}. Collect it with "
            f"`nbgrader collect {shlex.quote(assignment)}`, or put each student's files into such a folder."
        )
    if isinstance(students, str):
        chosen = [student for student in handed_in if fnmatchcase(student, students)]
    else:
        chosen = [student for student in handed_in if student in students]
    if not chosen:
        raise CourseError(
            f"None of the {len(handed_in)} students who handed in {assignment} matches {students!r}; "
            f"the first is {handed_in[0]!r}."
        )
    notebooks = folders.notebook_names(assignment)
    reasons = {student: _why(folders, assignment, notebooks, student, force) for student in chosen}
    todo = {student: why for student, why in reasons.items() if why is not None}
    material = {
        each.name: each.material for each in open_course(folders.root, folders).assignments_in(assignment)
    }
    graded = (folders.autograded(student, assignment) for student in chosen if student not in todo)
    changed = [changed_material(folder, material) for folder in graded]
    outdated = sum(map(bool, changed))
    return Plan(folders, assignment, todo, len(chosen) - len(todo), outdated, frozenset().union(*changed))


def assignment_name(folders: CourseFolders, name: str) -> str:
    """Find the assignment of this name; that of a notebook will do. Raises CourseError if there is none."""
    known = folders.assignments()
    if name in known:
        return name
    named = {path.stem: path.parent.name for path in folders.source_notebooks()}
    if name not in named:
        raise CourseError(f"There is no assignment {name!r}. {suggestion(name, known)}")
    return named[name]


def _why(
    folders: CourseFolders, assignment: str, notebooks: list[str], student: str, force: bool
) -> Why | None:
    """Why this submission is to be graded; None where it need not be."""
    submitted, graded = folders.submission(student, assignment), folders.autograded(student, assignment)
    if not all(is_finished(graded / name) for name in notebooks):
        return "new"
    if force:
        return "again"
    try:
        return None if is_same_content(submitted, graded, notebooks) else "changed"
    except OSError:  # it cannot be read, which grading it will say
        return "changed"
