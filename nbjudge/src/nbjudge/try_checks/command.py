"""`nbjudge try`: the checks of a course, judged themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import Assignment, Course
from nbjudge.errors import CourseError, ExitStatus
from nbjudge.try_checks.trial import KINDS, Trial, answers_of_exercise, trials

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
    success = "" if answer else "Right answers get full marks, and each mistake is named."
    return print_problems(problems, success, console)


def print_problems(problems: Sequence[str], success: str, console: Console) -> ExitStatus:
    """Print what an author has to fix, or `success` if nothing; returns the command's exit status."""
    for problem in problems:
        console.print(Text.assemble(("✗ ", "red"), problem), soft_wrap=True)
    if not problems and success:
        console.print(success)
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


def table_of(exercise: Exercise, trials: Sequence[Trial], seeds: int) -> RenderableType:
    """The groups by number, and a row for each answer; of a single answer what its student reads, too."""
    on = "" if seeds == 1 else f" on {seeds} seeds; a number says on how many a group caught it"
    table = Table(title=f"{exercise.name}{on}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    table.add_column("answer", overflow="fold")
    for number in range(1, len(exercise.groups) + 1):
        table.add_column(str(number), justify="center")
    for trial in trials:
        cells = [_cell(trial.agrees(index), len(trial.verdicts)) for index in range(len(exercise.groups))]
        table.add_row(KINDS[trial.kind], trial.name, *cells, style="red" if trial.problem else "")
    return Group(table, *_groups(exercise), "", *(_what_is_read(trials[0]) if len(trials) == 1 else ()))


def _groups(exercise: Exercise) -> Iterator[str]:
    for number, group in enumerate(exercise.groups, 1):
        yield f"  {number}  {group.name}, {group.points:g} point{'s' * (group.points != 1)}"


def _what_is_read(trial: Trial) -> Iterator[Text]:
    verdict = trial.verdicts[0]
    for finding in verdict.findings:
        yield Text(f"  {finding.sentence}")
        yield Text(f"  {finding.evidence}\n", style="dim")


def _cell(agreed: int, seeds: int) -> str:
    if agreed == seeds:
        return "✓"
    return "[bold]✗[/]" if agreed == 0 else f"✗ {seeds - agreed}"
