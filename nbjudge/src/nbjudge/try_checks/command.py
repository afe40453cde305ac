"""`nbjudge try`: an exercise tried as a class would try it: its solution, accepted alternatives and mistakes.

Here, in this process and without a kernel: the protocol is the same, and it is many times faster. The
solution runs in a kernel once, besides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.progress import track
from rich.table import Column, Table
from rich.text import Text

from nbjudge.authoring.exercise import Exercise, Step
from nbjudge.calls import caller_of
from nbjudge.cell_metadata import checked_exercise
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment, Course
from nbjudge.course.loading import in_folder
from nbjudge.errors import CourseError, ExitStatus, SandboxError
from nbjudge.judge.scoring import judge_exercise
from nbjudge.judge.verdict import Verdict
from nbjudge.probe.watching import python_functions

NO_CHECKS = (
    "There is nothing to try: no file under {checks} has an Exercise. `nbjudge new-exercise ASSIGNMENT NAME` "
    "writes a first one."
)
Kind = Literal["solution", "accepted alternative", "mistake"]
Answer = tuple[Kind, str, Callable[..., Any]]  # with its name
LONGEST = 200  # characters of what is said of an answer
CHARGE = 'To take points for that, set `changed_arguments="one group"` in the exercise or for the course.'
# By whether the answer is a variable.
FIX = {
    False: "Fix the answer or the cases.",
    True: "Fix the answer, or the notebook: what it draws must be drawn from a seed.",
}
TELL_APART = {
    False: "add a case on which it gives something else.",
    True: "with the notebook's data it gives the right value: change them, or leave it out.",
}
IS_ANOTHER = (
    "add a case that tells the two apart, or write it after the other, for the first that fits is named."
)
VERIFIED = (
    " A verifier's sentence comes first where the mistake's values are random and cannot be recognised: let "
    "the verifier return the mistake's name then."
)

SEED = 0  # on which the solution is also called in this process
PROGRESS = "Running {notebook} with its solution in a student's kernel, as far as the last test …"
LOST = (
    "The solution of `{name}` gets {points:g} of {max_points:g} points in a student's kernel, where the "
    "whole notebook runs: “{message}” Look for a name that the answer's cell and a later cell both set, "
    "and for a cell that fails."
)
SKIPPED = "The solution was not run in a student's kernel: {reason}"


@dataclass(frozen=True)
class Trial:
    """One answer, and what the judge made of it on each seed."""

    exercise: Exercise
    kind: Kind
    name: str
    verdicts: tuple[Verdict, ...]

    @property
    def problem(self) -> str:
        """Return what its author has to fix, in a sentence; empty where all is as it should be."""
        return next((problem for verdict in self.verdicts if (problem := self._problem(verdict))), "")

    def agrees(self, group: int) -> int:
        """On how many seeds a group agreed."""
        return sum(verdict.groups[group].is_earned for verdict in self.verdicts)

    def _problem(self, verdict: Verdict) -> str:
        called = "" if self.kind == "solution" else f" {self.name}"
        what = f"The {self.kind}{called} of `{self.exercise.name}`"
        is_right, on_seed = verdict.points == verdict.max_points, f"on seed {verdict.seed}"
        if self.kind != "mistake" and not is_right:
            lost = next(group.name for group in verdict.groups if not group.is_earned)
            return (
                f"{what} gets {verdict.points:g} of {verdict.max_points:g} points {on_seed}: the group "
                f"“{lost}” says “{verdict.message[:LONGEST]}”. {FIX[self.exercise.is_variable]}"
            )
        if self.kind == "mistake" and is_right:
            says = f"“{verdict.message[:LONGEST]}” {CHARGE}" if verdict.findings else None
            return f"{what} loses no point {on_seed}: {says or TELL_APART[self.exercise.is_variable]}"
        if self.kind != "mistake" or verdict.findings[0].mistake == self.name:
            return ""
        first = verdict.findings[0]
        is_verified = any(group.verify for group in self.exercise.groups) and not first.mistake
        named = f"the mistake {first.mistake}" if first.mistake else f"“{first.sentence[:LONGEST]}”"
        return f"{what} is taken for {named} {on_seed}: {IS_ANOTHER}{VERIFIED if is_verified else ''}"


def answers_of_exercise(assignment: Assignment, exercise: Exercise) -> list[Answer]:
    """All that is tried: the solution first. CourseError where there is no solution."""
    solution = assignment.reference_answer(exercise.name)
    if exercise.is_variable:
        solution = _second_run(assignment).reference_answer(exercise.name)
    return [
        ("solution", exercise.name, solution),
        *(("accepted alternative", answer.__name__, answer) for answer in exercise.accepted_alternatives),
        *(("mistake", mistake.name, mistake.answer) for mistake in exercise.mistakes),
    ]


@lru_cache(maxsize=1)
def _second_run(assignment: Assignment) -> Assignment:
    """The assignment once more: a value that is drawn without a seed is another one there."""
    return replace(assignment)


def try_exercise(
    assignment: Assignment, exercise: Exercise, seeds: int, console: Console, only: str = ""
) -> list[Trial]:
    """Try an exercise's answers, or the one called `only`, on the first seeds, with a progress bar.

    Raises CourseError where the checks themselves cannot be right: a case that the solution cannot
    answer, a value that cannot travel, an unknown step, no answer of that name.
    """
    refuse_unknown_steps(exercise)
    reference = assignment.reference_answer(exercise.name)
    answers = answers_of_exercise(assignment, exercise)
    chosen = [answer for answer in answers if only in ("", answer[1])]
    if not chosen:
        known = ", ".join(name for _, name, _ in answers)
        raise CourseError(f"The checks of `{exercise.name}` hold no {only!r}. They hold: {known}.")
    tried = []
    for kind, name, answer in track(chosen, exercise.name, console=console, transient=True):
        with in_folder(assignment.source_path.parent):
            judged = (judge_exercise(exercise, reference, caller_of(answer), seed) for seed in range(seeds))
            tried.append(Trial(exercise, kind, name, tuple(judged)))
    return tried


def refuse_unknown_steps(exercise: Exercise) -> None:
    """Raises CourseError where `not_allowed` names what cannot be watched, or is not there to be."""
    for step in exercise.not_allowed:
        if not isinstance(step, Step):
            raise CourseError(
                f"`{exercise.name}` does not allow {step!r}, which is no step that can be watched: "
                "write a Step (from nbjudge.authoring) with the functions that give it away."
            )
        for module, names in step.watched_calls().get("functions", {}).items():
            try:
                found = import_module(module)
            except ImportError:
                continue  # such as a package that this course can do without: no answer can use it either
            for name in names:
                if not python_functions(found, name):
                    raise CourseError(
                        f"`{exercise.name}` does not allow {step.called}, and {module} has no function "
                        f"{name!r} that is written in Python: fix the name, or take the function that it "
                        "ends in."
                    )


def try_all(
    course: Course, name: str, answer: str, seeds: int, console: Console, in_a_kernel: bool = False
) -> ExitStatus:
    """Try the exercises of this name, or of the assignment of this name; the exit status of the command.

    `in_a_kernel`: the solution is also graded once as a student's work is, unless one `answer` is chosen.

    Raises CourseError where there is none, and where checks cannot be right at all.
    """
    problems: list[str] = []
    right: dict[Assignment, list[str]] = {}  # the exercises whose solutions are right here
    for assignment, exercise in _chosen(course, name):
        tried = try_exercise(assignment, exercise, seeds, console, answer)
        console.print(table_of(exercise, tried, seeds))
        problems += [trial.problem for trial in tried if trial.problem]
        if not answer and not tried[0].problem:
            right.setdefault(assignment, []).append(exercise.name)
    for assignment, names in right.items() if in_a_kernel else ():
        problems += problems_in_a_kernel(assignment, names, console)
    success = "" if answer else "Right answers get full marks, and each mistake is named."
    return print_problems(problems, success, console)


def problems_in_a_kernel(
    assignment: Assignment, exercises: Collection[str], console: Console
) -> Iterator[str]:
    """Grade the solution once, and say in a sentence each what it loses in some of the exercises.

    Without a sandbox, where the course requires one, it is not run, and the console says so.
    """
    from nbjudge.grading.job import environment_of, grade
    from nbjudge.grading.prepare import solved_form
    from nbjudge.sandbox.bubblewrap import sandbox_refusal
    from nbjudge.settings import GradingSettings
    from nbjudge.submission.files import copy_plain_files

    settings = GradingSettings(config=read_config(assignment.course.root))
    reason = sandbox_refusal() if settings.sandbox else None
    if reason is not None:
        console.print(SKIPPED.format(reason=reason), soft_wrap=True, markup=False)
        return
    notebook = solved_form(assignment, settings.config)
    tests = [at for at, cell in enumerate(notebook.cells) if checked_exercise(cell) in exercises]
    notebook.cells = notebook.cells[: max(tests, default=-1) + 1]  # as far as the last of the exercises
    environment = environment_of(notebook, assignment, settings)
    with console.status(PROGRESS.format(notebook=assignment.name)), TemporaryDirectory() as folder:
        copy_plain_files(assignment.source_path.parent, Path(folder))
        try:
            verdicts = grade(notebook, assignment, Path(folder), SEED, environment)
        except SandboxError as error:
            console.print(SKIPPED.format(reason=error), soft_wrap=True, markup=False)
            return
    for verdict in verdicts:
        if verdict.exercise in exercises and verdict.points < verdict.max_points:
            yield LOST.format(
                name=verdict.exercise,
                points=verdict.points,
                max_points=verdict.max_points,
                message=verdict.message[:LONGEST],
            )


def print_problems(problems: Sequence[str], success: str, console: Console) -> ExitStatus:
    """Print what an author has to fix, or `success` if nothing; returns the command's exit status."""
    for problem in problems:
        console.print(Text.assemble(("✗ ", "red"), problem), soft_wrap=True)
    if not problems and success:
        console.print(success)
    return ExitStatus.PROBLEM if problems else ExitStatus.SUCCESS


def problems_of_checks(assignment: Assignment, console: Console) -> Iterator[str]:
    """Yield what is wrong with an assignment's checks on one seed, each in a sentence."""
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
    chosen = [pair for pair in everything if name in ("*", pair[1].name, *pair[0].names)]
    if not everything:
        raise CourseError(NO_CHECKS.format(checks=course.folders.checks))
    if not chosen:
        known = ", ".join(exercise.name for _, exercise in everything)
        raise CourseError(f"There is no exercise or assignment {name!r}. The exercises are: {known}.")
    return chosen


def table_of(exercise: Exercise, trials: Sequence[Trial], seeds: int) -> RenderableType:
    """The groups by number, and a row for each answer; of a single answer what its student reads, too."""
    numbers = range(1, len(exercise.groups) + 1)
    columns = (Column(str(number), justify="center") for number in numbers)
    table = Table("", Column("answer", overflow="fold"), *columns, box=SIMPLE_HEAD)
    for trial in trials:
        cells = [_cell(trial.agrees(number - 1), seeds) for number in numbers]
        table.add_row(trial.kind, trial.name, *cells, style="red" if trial.problem else "")
    on = "" if seeds == 1 else f" on {seeds} seeds; a number says on how many a group caught it"
    title = Text(f"{exercise.name}{on}", style="italic")  # a table's own title has the table's width
    groups = [
        f"  {number}  {group.name}, {group.points:g} point{'s' * (group.points != 1)}"
        for number, group in enumerate(exercise.groups, 1)
    ]
    findings = trials[0].verdicts[0].findings if len(trials) == 1 else ()
    read = [
        Text.assemble(f"  {finding.sentence}\n", (f"  {finding.evidence}\n", "dim")) for finding in findings
    ]
    return Group(title, table, *groups, "", *read)


def _cell(agreed: int, seeds: int) -> str:
    if agreed == seeds:
        return "✓"
    return "[bold]✗[/]" if agreed == 0 else f"✗ {seeds - agreed}"
