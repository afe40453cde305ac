"""From nbgrader's words for a course, an assignment and a submission to ours."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nbjudge.course.course import Course, Lesson, open_course, read_notebook
from nbjudge.course.students import students
from nbjudge.errors import CourseError


def course_of(coursedir: Any) -> Course:
    """The course that nbgrader has open."""
    return open_course(Path(coursedir.root), coursedir.source_directory, coursedir.solution_directory)


def submitted_folder(coursedir: Any, about: dict[str, str]) -> Path:
    """Where the submission that `about` names was handed in."""
    return Path(coursedir.format_path(coursedir.submitted_directory, about["student"], about["assignment"]))


def autograded_folder(coursedir: Any, about: dict[str, str]) -> Path:
    """Where the graded notebooks of that submission belong."""
    return Path(coursedir.format_path(coursedir.autograded_directory, about["student"], about["assignment"]))


def chosen_students(coursedir: Any, only: str | None = None) -> list[str]:
    """The ids of those to be graded: `only` this one, or whomever nbgrader's setting means.

    That setting is a student's id, whatever characters it is made of, or else a pattern.
    """
    everybody = students(
        Path(coursedir.root),
        coursedir.directory_structure,
        coursedir.submitted_directory,
        coursedir.assignment_id,
    )
    said = coursedir.student_id if only is None else only
    if said in everybody and (only is not None or said != "*"):
        return [said]
    return [student for student in everybody if fnmatchcase(student, said)]


def lesson_of(course: Course, about: dict[str, str]) -> Lesson:
    """The lesson that `about` names. Raises CourseError if there is none."""
    for lesson in course.lessons_in(about["assignment"]):
        if lesson.name == about["notebook"]:
            return lesson
    raise CourseError(
        f"There is no source notebook {about['notebook']}.ipynb in {course.source}/{about['assignment']}/."
    )


def answer_ids(lesson: Lesson) -> set[str]:
    """The grade ids of a lesson's answer cells."""
    cells = read_notebook(lesson.source_path).cells
    marks = [cell.metadata.get("nbgrader", {}) for cell in cells]
    return {mark["grade_id"] for mark in marks if mark.get("solution")}
