"""`nbjudge regrade`: decide what an answer is worth, for everybody who gave it."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from rich.console import Console
from rich.text import Text

from nbjudge.batch.command import Options, grade_class
from nbjudge.course.course import Course, Lesson
from nbjudge.errors import CourseError
from nbjudge.plain_text import plain_line
from nbjudge.regrade.decisions import Decision, read_decisions, write_decisions
from nbjudge.regrade.same_answer import answers_of


def regrade(
    course: Course, exercise: str, student: str, points: float | None, reason: str, console: Console
) -> int:
    """Decide for the answer of one student, and grade all anew who gave it; the exit status of that grading.

    `points` None: all there are. Raises CourseError where there is no such answer, or not so many points.
    """
    lesson, checked = course.exercise(exercise)
    most = sum(group.points for group in checked.groups)
    worth = most if points is None else points
    if not 0 <= worth <= most:
        raise CourseError(f"{exercise} is worth 0 to {most:g} points, not {worth:g}.")
    if not reason.strip():
        raise CourseError("Say why, with --reason: the students read it.")
    answer = _answer_of(lesson, student, exercise)
    decision = Decision(
        exercise, answer, student, worth, plain_line(reason.strip(), 1_000), date.today().isoformat()
    )
    _replace(lesson, exercise, answer, [decision])
    return _grade_anew(lesson, exercise, answer, f"gets {worth:g} of {most:g}", console)


def withdraw(course: Course, exercise: str, student: str, console: Console) -> int:
    """Take back what was decided for a student's answer; the exit status of the grading that follows."""
    lesson, _ = course.exercise(exercise)
    answer = _answer_of(lesson, student, exercise)
    if not any((each.exercise, each.answer) == (exercise, answer) for each in _decisions(lesson)):
        raise CourseError(f"Nothing was decided for the answer of {student} to {exercise}.")
    _replace(lesson, exercise, answer, [])
    return _grade_anew(lesson, exercise, answer, "gets what the judge gives", console)


def _decisions(lesson: Lesson) -> list[Decision]:
    return read_decisions(lesson.course.folders, lesson.folder)


def _replace(lesson: Lesson, exercise: str, answer: str, new: list[Decision]) -> None:
    others = [each for each in _decisions(lesson) if (each.exercise, each.answer) != (exercise, answer)]
    write_decisions(lesson.course.folders, lesson.folder, [*others, *new])


def _answer_of(lesson: Lesson, student: str, exercise: str) -> str:
    answer = _answers(lesson, student).get(exercise)
    if answer is None:
        raise CourseError(
            f"There is no graded answer of {student} to {exercise}: name somebody whose {lesson.folder} is "
            "graded."
        )
    return answer


def _answers(lesson: Lesson, student: str) -> dict[str, str]:
    """Of a graded notebook; none where there is no such notebook."""
    file = lesson.course.folders.autograded(student, lesson.folder) / lesson.source_path.name
    try:
        content: Any = json.loads(file.read_bytes())
        return answers_of([cell for cell in content["cells"] if isinstance(cell, dict)])
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return {}


def _grade_anew(lesson: Lesson, exercise: str, answer: str, what: str, console: Console) -> int:
    folders = lesson.course.folders
    gave_it = [
        student
        for student in folders.students(lesson.folder)
        if _answers(lesson, student).get(exercise) == answer
    ]
    names = ", ".join(gave_it)
    console.print(Text(f"{exercise}: this answer {what}. Given by {len(gave_it)}: {names}."), soft_wrap=True)
    return grade_class(folders, lesson.folder, Options(frozenset(gave_it), force=True), console)
