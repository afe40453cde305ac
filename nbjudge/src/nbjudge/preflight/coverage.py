"""The table of questions: a row for each exercise, a column for each relation that it may be asked about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import track

from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import Assignment, Course
from nbjudge.errors import CourseError
from nbjudge.preflight.relations import RELATIONS, reasons

BEGIN, END = "<!-- questions: made by a command, see above -->", "<!-- end of questions -->"
ASKED, BLANK = "✓", "**?**"
NO_PLACE = "{page} has no line “{begin}” with a line “{end}” below it: the table is written between the two."

Row = tuple[Exercise, dict[str, str | None]]


def rows_of(assignments: Iterable[Assignment], console: Console) -> list[Row]:
    """Every exercise, and why it is not asked about which relation; with a progress bar."""
    exercises = [(assignment, each) for assignment in assignments for each in assignment.exercises.values()]
    shown = track(exercises, "Looking at the questions", console=console, transient=True)
    return [(each, reasons(each, assignment.reference_answer(each.name))) for assignment, each in shown]


def blanks(rows: Iterable[Row]) -> Iterator[str]:
    """What is neither asked nor explained, each in a sentence that says how to fix it."""
    for exercise, row in rows:
        for relation, reason in row.items():
            if reason == "":
                yield (
                    f"`{exercise.name}` is not asked about “{relation}”: add such a case, or say in its "
                    f'Exercise why not: not_asked={{{relation!r}: "..."}}.'
                )


def table(rows: Iterable[Row]) -> str:
    """The table in Markdown; a letter stands for a reason, and the reasons are listed below it."""
    letters: dict[str, str] = {}
    names = [relation.name for relation in RELATIONS]
    lines = [f"| exercise | {' | '.join(names)} |", f"|---|{':-:|' * len(names)}"]
    for exercise, row in rows:
        cells = [_cell(row[name], letters) for name in names]
        lines.append(f"| `{exercise.name}` | {' | '.join(cells)} |")
    listed = [f"- *{letter}*: {reason}" for reason, letter in letters.items()]
    return "\n".join([*lines, "", f"{ASKED}: asked. Not asked, because", "", *listed])


def write_into(page: Path, coverage: str) -> None:
    """Replace the text between the two comments of a page. Raises CourseError where they are missing."""
    text = page.read_text() if page.is_file() else ""
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise CourseError(NO_PLACE.format(page=page, begin=BEGIN, end=END))
    page.write_text(f"{before}{BEGIN}\n\n{coverage}\n\n{END}{after}")


def show_questions(course: Course, name: str, page: Path | None, console: Console) -> int:
    """What `nbjudge questions` does; its exit status."""
    rows = rows_of(course.choose(name), console)
    coverage = table(rows)
    if page is None:
        console.print(coverage, markup=False, soft_wrap=True)
    else:
        write_into(page, coverage)
        console.print(f"Written into {page}.", soft_wrap=True)
    missing = list(blanks(rows))
    for sentence in missing:
        console.print(f"✗ {sentence}", markup=False, soft_wrap=True)
    return 1 if missing else 0


def _cell(reason: str | None, letters: dict[str, str]) -> str:
    if reason is None:
        return ASKED
    if reason == "":
        return BLANK
    return f"*{letters.setdefault(reason, _letter(len(letters)))}*"


def _letter(number: int) -> str:
    """a to z, then aa, ab and so on."""
    first, last = divmod(number, 26)
    return (chr(ord("a") + first - 1) if first else "") + chr(ord("a") + last)
