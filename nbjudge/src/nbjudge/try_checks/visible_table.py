"""`nbjudge visible`: how many of the checks' wrong answers an assignment's visible tests catch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nbjudge.course.course import Course
from nbjudge.errors import CourseError, ExitStatus
from nbjudge.try_checks.command import NO_CHECKS
from nbjudge.try_checks.visible import VisibleTests, visible_tests

LEAST = 0.85  # of the mistakes, in every exercise


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
    for problem in found:
        console.print(Text.assemble(("✗ ", "red"), problem), soft_wrap=True)
    if not found:
        console.print("Visible tests catch most mistakes, refuse no right answer and leave no names behind.")
    return ExitStatus.PROBLEM if found else ExitStatus.SUCCESS


def table_of(tried: Sequence[VisibleTests]) -> Table:
    """A row for each exercise: the share of its mistakes that are caught, and those that are not."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("exercise")
    table.add_column("caught", justify="right")
    table.add_column("mistakes that pass", overflow="fold")
    for each in tried:
        style = "red" if each.share < LEAST else ""
        table.add_row(each.exercise, f"{each.share:.0%}", ", ".join(each.missed), style=style)
    return table


def problems(tried: VisibleTests) -> Iterator[str]:
    """What an author has to fix, each in a sentence."""
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
