"""`nbjudge try`: the checks of a course, judged themselves."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import Assignment, Course
from nbjudge.errors import CourseError, ExitStatus
from nbjudge.try_checks.table import table_of
from nbjudge.try_checks.trial import Trial, answers_of_exercise, trials

NO_CHECKS = (
    "There is nothing to try: no file under {checks} has an Exercise. `nbjudge new-exercise ASSIGNMENT NAME` "
    "writes a first one."
)


def try_all(course: Course, name: str, answer: str, seeds: int, console: Console) -> ExitStatus:
    """Try the exercises of this name, or of the assignment of this name; the exit status of the command.

    Raises CourseError where there is none, and where checks cannot be right at all.
    """
    problems: list[str] = []
    for assignment, exercise in _chosen(course, name):
        tried = try_exercise(assignment, exercise, seeds, console, answer)
        console.print(table_of(exercise, tried, seeds))
        problems += [trial.problem for trial in tried if trial.problem]
    for problem in problems:
        console.print(Text.assemble(("✗ ", "red"), problem), soft_wrap=True)
    if not problems and not answer:
        console.print("Right answers get full marks, and each mistake is named.")
    return ExitStatus.PROBLEM if problems else ExitStatus.SUCCESS


def try_exercise(
    assignment: Assignment, exercise: Exercise, seeds: int, console: Console, only: str = ""
) -> list[Trial]:
    """Every answer of an exercise, tried on the first seeds, with a progress bar."""
    total = 1 if only else len(answers_of_exercise(assignment, exercise))
    with Progress(console=console, transient=True) as progress:
        tried = trials(assignment, exercise, range(seeds), only)
        return list(progress.track(tried, total=total, description=exercise.name))


def problems_of_checks(assignment: Assignment, console: Console) -> Iterator[str]:
    """What is wrong with an assignment's checks on one seed, each in a sentence."""
    for exercise in assignment.exercises.values():
        try:
            tried = try_exercise(assignment, exercise, 1, console)
        except CourseError as error:
            yield str(error)
        else:
            yield from (trial.problem for trial in tried if trial.problem)


def _chosen(course: Course, name: str) -> list[tuple[Assignment, Exercise]]:
    everything = [
        (assignment, exercise)
        for assignment in course.assignments.values()
        for exercise in assignment.exercises.values()
    ]
    chosen = [
        (assignment, exercise)
        for assignment, exercise in everything
        if name in ("*", exercise.name, *assignment.names)
    ]
    if not everything:
        raise CourseError(NO_CHECKS.format(checks=course.folders.checks))
    if not chosen:
        known = ", ".join(exercise.name for _, exercise in everything)
        raise CourseError(f"There is no exercise or assignment {name!r}. The exercises are: {known}.")
    return chosen
