"""Find the course, assignment, students and folders that nbgrader's `CourseDirectory` and resources name."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nbjudge.course.course import Assignment, Course, open_course
from nbjudge.course.folders import folders_of
from nbjudge.errors import CourseError


def course_of(coursedir: Any) -> Course:
    """The course that nbgrader has open."""
    return open_course(Path(coursedir.root), folders_of(coursedir))


def chosen_students(coursedir: Any, only: str | None = None) -> list[str]:
    """The ids of the students to grade: `only` this one, or those of nbgrader's setting `student_id`.

    The setting is a student's id, of any characters, or else a pattern.
    """
    everybody = folders_of(coursedir).students(coursedir.assignment_id)
    wanted = coursedir.student_id if only is None else only
    if wanted in everybody and (only is not None or wanted != "*"):
        return [wanted]
    return [student for student in everybody if fnmatchcase(student, wanted)]


def assignment_of(course: Course, about: dict[str, str]) -> Assignment:
    """The assignment that `about`, nbgrader's part of the resources, names. CourseError if there is none."""
    for assignment in course.assignments_in(about["assignment"]):
        if assignment.name == about["notebook"]:
            return assignment
    source = course.folders.source / about["assignment"] / f"{about['notebook']}.ipynb"
    raise CourseError(f"There is no source notebook {source}.")


def submitted_folder(coursedir: Any, about: dict[str, str]) -> Path:
    """Where the submission that `about` names was handed in."""
    return folders_of(coursedir).submitted(about["student"], about["assignment"])


def autograded_folder(coursedir: Any, about: dict[str, str]) -> Path:
    """Where the graded notebooks of that submission belong."""
    return folders_of(coursedir).autograded(about["student"], about["assignment"])
