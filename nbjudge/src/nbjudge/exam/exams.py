"""`nbjudge exam`: from a roster and a key to the papers, and to an assignment that nbgrader knows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from nbgrader.apps.api import NbGraderAPI
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course, find_course
from nbjudge.course.folders import invalid_id_reason
from nbjudge.errors import CourseError
from nbjudge.exam.blueprint import FIX, KINDS
from nbjudge.exam.draw import BOUND, NAMES, Paper, draw_papers, points_of
from nbjudge.exam.items import earlier_results, find_items
from nbjudge.exam.papers import refuse_changes, table_of, write_exam
from nbjudge.grading.job import course_key
from nbjudge.plain_text import first_few
from nbjudge.term.roster import read_roster
from nbjudge.term.tables import show


def draw_exam(
    start: Path,
    roster: Path,
    minutes: int,
    lessons: str,
    name: str,
    key: str | None,
    console: Console,
    dry_run: bool = False,
) -> None:
    """Draw an exam and write it; see `nbjudge exam --help`.

    Raises CourseError if the roster, the name or a blueprint cannot be used, or papers would change.
    """
    course = find_course(start)
    if not name.replace("_", "").replace("-", "").isalnum():
        raise CourseError(f"{name!r} cannot be an exam's name: use letters, digits, - and _.")
    students = roster_of(roster, course)
    with _progress(console) as progress:
        earlier = earlier_results(course.folders.reports, name)
        items = find_items(course, lessons, progress, earlier)
        secret = course_key(course.root) if key is None else key.encode()
        papers = draw_papers(items, ["", *students], minutes, secret, name)
        table = table_of(papers, minutes)
        refuse_changes(course, name, table)
        if not dry_run:
            config = read_config(course.root)
            task = progress.add_task("Writing papers", total=len(papers))
            given = write_exam(course, name, papers, table, config, lambda: progress.advance(task))
            _register(course, name)
    sentences = _sentences(papers[1:])
    if not dry_run:
        sentences += [
            f"For students: {given}/STUDENT/{name}.ipynb. Collect the works as submitted/STUDENT/{name}, "
            f"then: nbjudge grade {name}, nbjudge exam-results {name}.",
        ]
    rows = [
        (
            each.student,
            ", ".join(item.family for item in each.items if item.kind == FIX),
            f"{each.expected:.1f}",
        )
        for each in papers[1:]
    ]
    show(console, sentences, ("student", "to fix", "expected points"), rows if dry_run else (), dry_run)


def roster_of(file: Path, course: Course) -> list[str]:
    """Read the ids of the students of a table, in its order.

    Raises CourseError if it has none, one of them twice, a student without an id, or an id that is no name of
    a folder.
    """
    rows = read_roster(file, read_config(course.root), ["id"])
    nameless = [row.email or row.name or "a row" for row in rows if not row.id]
    if nameless or not rows:
        raise CourseError(
            f"{file} has no id for {first_few(nameless)}: a paper is drawn for an id."
            if nameless
            else f"{file} has no students: give each a row with an id."
        )
    twice = [student for student, count in Counter(row.id for row in rows).items() if count > 1]
    if twice:
        raise CourseError(f"{file} has the id {first_few(twice)} more than once: give each student one row.")
    for student in (row.id for row in rows):
        if invalid_id_reason(student) or "/" in student or student in (".", ".."):
            raise CourseError(
                f"{file} has the id {student!r}, which cannot be the name of a folder: change it."
            )
    return [row.id for row in rows]


def _sentences(papers: list[Paper]) -> list[str]:
    first, points = papers[0], points_of(item.kind for item in papers[0].items)
    count = Counter(item.kind for item in first.items)
    content = ", ".join(f"{NAMES[kind]}: {count[kind]}" for kind in KINDS if count[kind])
    expected = sorted(paper.expected for paper in papers)
    distance = (expected[-1] - expected[0]) / points
    return [
        f"{len(papers)} papers of {points} points each ({content}).",
        f"Expected on average: {expected[0]:.1f} to {expected[-1]:.1f} points"
        + (f" (aimed at: no more than {2 * BOUND:.0%} apart)." if distance > 2 * BOUND else "."),
    ]


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=console, transient=True)


def _register(course: Course, name: str) -> None:
    """Enter the cells of the sample paper into the gradebook, as nbgrader does when it makes a release."""
    config = read_config(course.root)
    config.CourseDirectory.root = str(course.root)
    result = NbGraderAPI(config=config).generate_assignment(name, force=True, create=True)
    if not result["success"]:
        raise CourseError(
            f"The papers are written, but nbgrader could not enter {name} into the gradebook: "
            f"`nbgrader generate_assignment --force {name}` says why."
        )
