"""From nbgrader's words for a course, an assignment and a submission to ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attention_lab.errors import CourseError
from attention_lab.grading.course import Course, Lesson, open_course, read_notebook


def course_of(coursedir: Any) -> Course:
    """The course that nbgrader has open."""
    return open_course(Path(coursedir.root), coursedir.source_directory, coursedir.solution_directory)


def submitted_folder(coursedir: Any, about: dict[str, str]) -> Path:
    """Where the submission that `about` names was handed in."""
    return Path(coursedir.format_path(coursedir.submitted_directory, about["student"], about["assignment"]))


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
