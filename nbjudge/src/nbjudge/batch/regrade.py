"""`nbjudge regrade`: decide what an answer is worth, for everybody who gave it."""

from __future__ import annotations

from datetime import date

from rich.console import Console
from rich.text import Text

from nbjudge.batch.grade_command import Options, grade_class
from nbjudge.course.course import Assignment, Course
from nbjudge.errors import CourseError, ExitStatus
from nbjudge.grading.regrades import Decision, decision_for, read_decisions, write_decisions
from nbjudge.judge.verdict import Verdict
from nbjudge.plain_text import plain_line
from nbjudge.record.graded_notebook import read_graded


def regrade(
    course: Course, exercise: str, student: str, points: float | None, reason: str, console: Console
) -> ExitStatus:
    """Decide for one student's answer, and grade all who gave it again; return that grading's exit status.

    `points` None: all there are. Raises CourseError where there is no such answer, or not so many points.
    """
    assignment, checked = course.exercise(exercise)
    max_points = sum(group.points for group in checked.groups)
    worth = max_points if points is None else points
    if not 0 <= worth <= max_points:
        raise CourseError(f"{exercise} is worth 0 to {max_points:g} points, not {worth:g}.")
    if not reason.strip():
        raise CourseError("Say why, with --reason: the students read it.")
    answer, verdict = _answer_of(assignment, student, exercise)
    decision = Decision(
        exercise,
        answer,
        student,
        worth,
        plain_line(reason.strip(), 1_000),
        date.today().isoformat(),
        {group.name: group.is_earned for group in verdict.groups},
    )
    others = [each for each in _decisions(assignment) if not each.holds_for(answer, student, verdict)]
    write_decisions(assignment.course.folders, assignment.folder, [*others, decision])
    return _grade_again(assignment, decision, f"gets {worth:g} of {max_points:g}", console)


def withdraw(course: Course, exercise: str, student: str, console: Console) -> ExitStatus:
    """Take back what was decided for a student's answer; the exit status of the grading that follows."""
    assignment, _ = course.exercise(exercise)
    decisions = _decisions(assignment)
    answer, verdict = _answer_of(assignment, student, exercise)
    decision = decision_for(decisions, answer, student, verdict)
    if decision is None:
        raise CourseError(f"Nothing was decided for the answer of {student} to {exercise}.")
    decisions.remove(decision)
    write_decisions(assignment.course.folders, assignment.folder, decisions)
    return _grade_again(assignment, decision, "gets what the judge gives", console)


def _decisions(assignment: Assignment) -> list[Decision]:
    return read_decisions(assignment.course.folders, assignment.folder)


def _answer_of(assignment: Assignment, student: str, exercise: str) -> tuple[str, Verdict]:
    found = _answers(assignment, student).get(exercise)
    if found is None:
        raise CourseError(
            f"There is no graded answer of {student} to {exercise}: name a student whose "
            f"{assignment.folder} is graded."
        )
    return found


def _answers(assignment: Assignment, student: str) -> dict[str, tuple[str, Verdict]]:
    """By exercise of a graded notebook, which answer it is and its verdict; none where it cannot be read."""
    file = assignment.course.folders.autograded(student, assignment.folder) / assignment.source_path.name
    try:
        cells = read_graded(file).cells
    except (OSError, ValueError):
        return {}
    judged = [(cell.answer, cell.exercise.verdict) for cell in cells if cell.exercise is not None]
    return {verdict.exercise: (answer, verdict) for answer, verdict in judged}


def _grade_again(assignment: Assignment, decision: Decision, what: str, console: Console) -> ExitStatus:
    folders = assignment.course.folders
    students = []
    for student in folders.students(assignment.folder):
        found = _answers(assignment, student).get(decision.exercise)
        if found is not None and decision.holds_for(found[0], student, found[1]):
            students.append(student)
    sentence = f"{decision.exercise}: this answer {what}. Given by {len(students)}: {', '.join(students)}."
    console.print(Text(sentence), soft_wrap=True)
    return grade_class(folders, assignment.folder, Options(frozenset(students), force=True), console)
