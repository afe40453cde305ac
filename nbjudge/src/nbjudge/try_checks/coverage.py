"""The coverage table: a row for each exercise, a column for each relation that its cases may test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import track

from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import Assignment, Course
from nbjudge.errors import CourseError
from nbjudge.try_checks.relations import RELATIONS, Coverage, coverage_of

BEGIN, END = "<!-- coverage: made by a command, see above -->", "<!-- end of coverage -->"
SIGNS: dict[Coverage, str] = {"covered": "✓", "does not apply": "–", "not covered": "○"}
LEGEND = ", ".join(f"{sign}: {coverage}" for coverage, sign in SIGNS.items())
NO_PLACE = "{page} has no line “{begin}” with a line “{end}” below it: the table is written between the two."

Row = tuple[Exercise, dict[str, Coverage]]


def rows_of(assignments: Iterable[Assignment], console: Console) -> list[Row]:
    """Return every exercise with the coverage of each relation, and show a progress bar."""
    exercises = [(assignment, each) for assignment in assignments for each in assignment.exercises.values()]
    shown = track(exercises, "Looking at the cases", console=console, transient=True)
    return [(each, coverage_of(each, assignment.reference_answer(each.name))) for assignment, each in shown]


def coverage_table(rows: list[Row]) -> str:
    """Return the table in Markdown; its last row counts the exercises that a relation applies to."""
    names = [relation.name for relation in RELATIONS]
    lines = [f"| exercise | {' | '.join(names)} |", f"|---|{':-:|' * len(names)}"]
    for exercise, row in rows:
        lines.append(f"| `{exercise.name}` | {' | '.join(SIGNS[row[name]] for name in names)} |")
    counts = []
    for name in names:
        found = [row[name] for _, row in rows]
        counts.append(f"{found.count('covered')} of {len(found) - found.count('does not apply')}")
    return "\n".join([*lines, f"| **covered** | {' | '.join(counts)} |", "", f"{LEGEND}."])


def write_into(page: Path, coverage: str) -> None:
    """Replace the text between the two comments of a page. Raises CourseError if they are missing."""
    text = page.read_text() if page.is_file() else ""
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise CourseError(NO_PLACE.format(page=page, begin=BEGIN, end=END))
    page.write_text(f"{before}{BEGIN}\n\n{coverage}\n\n{END}{after}")


def show_coverage(course: Course, name: str, page: Path | None, console: Console) -> None:
    """Print the table of some assignments, or write it into a page."""
    coverage = coverage_table(rows_of(course.choose(name), console))
    if page is None:
        console.print(coverage, markup=False, soft_wrap=True)
    else:
        write_into(page, coverage)
        console.print(f"Written into {page}.", soft_wrap=True)
