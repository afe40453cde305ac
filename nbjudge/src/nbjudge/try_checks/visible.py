"""What the visible tests of an assignment catch: each wrong answer of its checks put in the student's place.

Here, in this process: the notebook runs once, and at each graded cell the visible part of it is run for
every answer that the checks know. A wrong answer that passes would tell its student that all is well.
"""

from __future__ import annotations

import contextlib
import copy
import io
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from nbjudge.course import loading
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment, Course
from nbjudge.course.regions import Regions
from nbjudge.errors import CourseError, ExitStatus
from nbjudge.grading.job import MAY_FAIL
from nbjudge.try_checks.command import NO_CHECKS, Answer, Kind, answers_of_exercise, print_problems
from nbjudge.values.kinds import kind_of

LEAST = 0.85  # of the mistakes, in every exercise
CELL_STOPS = (
    "{}: {} stops with {}. Fix it, or give it Jupyter's tag "
    f"`{MAY_FAIL}` if it shows an error on purpose."
)


@dataclass(frozen=True)
class VisibleTestsResult:
    """The result of one answer's visible tests: the sentence they stopped at, empty where they passed."""

    kind: Kind
    name: str
    message: str


@dataclass(frozen=True)
class VisibleTests:
    """The visible tests of one exercise, tried on every answer, and the names that they leave behind."""

    exercise: str
    answers: tuple[VisibleTestsResult, ...]
    left: tuple[str, ...]

    @property
    def missed(self) -> list[str]:
        """The mistakes that pass."""
        return [answer.name for answer in self.answers if answer.kind == "mistake" and not answer.message]

    @property
    def refused(self) -> list[VisibleTestsResult]:
        """The right answers that do not pass."""
        return [answer for answer in self.answers if answer.kind != "mistake" and answer.message]

    @property
    def share(self) -> float:
        """The share of the mistakes that are caught, 0 to 1."""
        mistakes = sum(answer.kind == "mistake" for answer in self.answers)
        return 1 - len(self.missed) / mistakes if mistakes else 1.0


def visible_tests(assignment: Assignment) -> list[VisibleTests]:
    """Try the visible tests of each exercise of an assignment, in the notebook's order.

    Raises CourseError where a cell of the source notebook fails by itself.
    """
    questions = assignment.questions
    judged = {cell: name for cell, name in assignment.exercise_of_cell.items() if name not in questions}
    if not judged:
        return []
    regions, folder = Regions.of(read_config(assignment.course.root)), assignment.source_path.parent
    answers = {name: answers_of_exercise(assignment, assignment.exercises[name]) for name in judged.values()}
    space, tried = vars(ModuleType("__main__")) | loading.kernel_names(), list[VisibleTests]()
    printed = io.StringIO()  # some cells and tests print a traceback of their own
    silence = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with loading.in_folder(folder), loading.without_windows(), silence[0], silence[1]:
        for cell in loading.read_plain_cells(assignment.source_path):
            if cell.cell_type != "code" or cell.is_left_out or cell.name in questions:
                continue
            name = judged.get(cell.name)
            if name is None:
                message = _run(cell.source, space)
                if message and MAY_FAIL not in cell.tags:
                    raise CourseError(CELL_STOPS.format(assignment.source_path, cell.label, message))
            else:
                test, _ = regions.without_hidden_tests(cell.source)
                is_variable = assignment.exercises[name].is_variable
                tried.append(_tried(name, answers[name], test, space, is_variable))
    return tried


def _tried(
    name: str, answers: Sequence[Answer], test: str, space: dict[str, Any], is_variable: bool
) -> VisibleTests:
    # The first answer is the solution, which the notebook has defined itself, as a student's is.
    (kind, called, _), *others = answers
    before = dict(space)
    results = [VisibleTestsResult(kind, called, _run_test(test, space))]
    changed = (key for key in space if key not in before or space[key] is not before[key])
    left = tuple(sorted(key for key in changed if not key.startswith(("test_", "__"))))
    for kind, called, answer in others:
        own = _copied(space) | {name: answer() if is_variable else answer}
        results.append(VisibleTestsResult(kind, called, _run_test(test, own)))
    return VisibleTests(name, tuple(results), left)


def _copied(space: dict[str, Any]) -> dict[str, Any]:
    """The notebook's names, with arrays of their own: some mistakes change what they are given."""
    copied = dict(space)
    for name, value in space.items():
        if kind_of(value) is not None:
            with contextlib.suppress(RuntimeError):  # one that a graph of gradients ends in stays as it is
                copied[name] = copy.deepcopy(value)
    return copied


def _run_test(test: str, space: dict[str, Any]) -> str:
    """Run a test in a thread of its own: what a mistake sets for good, such as no gradients, ends with it."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_run, test, space).result()


def _run(source: str, space: dict[str, Any]) -> str:
    """Run a cell, and return the sentence that it stops at; empty where it runs to its end."""
    try:
        exec(compile(loading.as_python(source), "cell", "exec", dont_inherit=True), space)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close("all")  # as Jupyter does at a cell's end
    return ""


def show_visible(course: Course, assignment: str, console: Console) -> ExitStatus:
    """Print a table of the assignments that are chosen, and what is to be fixed; the command's exit status.

    Raises CourseError where there is no such assignment, or a notebook does not run.
    """
    tried: list[VisibleTests] = []
    with console.status("Running the notebooks …") as status:
        for chosen in course.choose(assignment):
            status.update(f"Running {chosen.folder} …")
            tried += visible_tests(chosen)
    if not tried:
        raise CourseError(NO_CHECKS.format(checks=course.folders.checks))
    console.print(table_of(tried))
    found = [problem for each in tried for problem in problems(each)]
    success = "Visible tests catch most mistakes, refuse no right answer and leave no names behind."
    return print_problems(found, success, console)


def table_of(tried: Sequence[VisibleTests]) -> Table:
    """A row for each exercise: the share of its mistakes that are caught, and those that are not."""
    columns = Column("caught", justify="right"), Column("mistakes that pass", overflow="fold")
    table = Table("exercise", *columns, box=SIMPLE_HEAD)
    for tests in tried:
        style = "red" if tests.share < LEAST else ""
        table.add_row(tests.exercise, f"{tests.share:.0%}", ", ".join(tests.missed), style=style)
    return table


def problems(tried: VisibleTests) -> Iterator[str]:
    """Yield what an author has to fix, each in a sentence."""
    if tried.share < LEAST:
        yield (
            f"The visible tests of `{tried.exercise}` catch {tried.share:.0%} of its mistakes, at least "
            f"{LEAST:.0%} is asked for: take examples on which {tried.missed[0]} gives something else."
        )
    for right in tried.refused:
        yield f"The visible tests of `{tried.exercise}` refuse the {right.kind} {right.name}: {right.message}"
    if tried.left:
        yield (
            f"The test cell of `{tried.exercise}` leaves {', '.join(tried.left)} behind: a student's own "
            "helper of that name would be gone. Put its lines into a function."
        )
