"""`nbjudge similar`: pairs of works that are closer than chance explains, as a page or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from nbjudge.course.course import find_course
from nbjudge.errors import CourseError
from nbjudge.plain_text import first_few, plain_line
from nbjudge.similar.page import render
from nbjudge.similar.rarity import Class, Comparison
from nbjudge.similar.works import Reader, Works

NONE = "{assignment}: no two of {works} works are closer than chance explains."


def write_similar(
    start: Path, assignment: str, against: Sequence[Path], output: Path | None, console: Console
) -> None:
    """Compare the works on an assignment, and write the page.

    Parameters
    ----------
    start
        A folder of the course.
    assignment
        The assignment, or one of its notebooks.
    against
        Folders with other works on it, such as those of earlier classes.
    output
        The folder of the page; None for `reports/ASSIGNMENT-similar`.
    console
        Where to say what was found.

    Raises
    ------
    CourseError
        If there is no such assignment, no work on it or no such folder, or the page cannot be written.
    """
    name, works, group, found = _compared(start, assignment, against, console)
    folder = output or find_course(start).folders.reports / f"{name}-similar"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / "index.html"
        page.write_text(render(name, group, found, works), encoding="utf-8")
    except OSError as error:
        raise CourseError(
            f"{folder} cannot be written ({error.strerror}): name another with --output."
        ) from error
    for sentence in (*sentences(name, found, works), f"The page: {page}"):
        console.print(Text(plain_line(sentence, 2_000)), soft_wrap=True)


def similar_as_json(start: Path, assignment: str, against: Sequence[Path], console: Console) -> str:
    """The pairs as JSON; see `write_similar`."""
    name, works, _, found = _compared(start, assignment, against, console)
    pairs = [
        {
            "first": pair.first.name,
            "second": pair.second.name,
            "bits": round(pair.bits, 1),
            "exercises": [
                {"exercise": exercise, "bits": round(common.bits, 1), "alike": round(common.alike, 3)}
                | ({"mistake": common.mistake} if common.mistake else {})
                for exercise, common in pair.exercises.items()
            ],
        }
        for pair in found.pairs
    ]
    about: dict[str, Any] = {
        "assignment": name,
        "works": found.works,
        "listed from bits": round(found.bits, 1),
    }
    about |= {"left out as short": list(found.short), "not or not all compared": works.unread, "pairs": pairs}
    return json.dumps(about, ensure_ascii=False, indent=1)


def sentences(name: str, found: Comparison, works: Works) -> list[str]:
    """What was found, and what was not compared."""
    count = len(found.pairs)
    said = [NONE.format(assignment=name, works=found.works)]
    if count:
        first = found.pairs[0]
        are = "pair of works is" if count == 1 else "pairs of works are"
        said = [
            f"{name}: {count} {are} closer than chance explains, of {found.works} works; the closest is "
            f"{first.first.name} and {first.second.name}."
        ]
    if found.short:
        said.append(f"Left out, because most answers have one short form: {', '.join(found.short)}.")
    if works.unread:
        said.append(f"Not compared, or not all of it: {first_few(works.unread)}.")
    return said


def _compared(
    start: Path, assignment: str, against: Sequence[Path], console: Console
) -> tuple[str, Works, Class, Comparison]:
    course = find_course(start)
    name = course.choose(assignment)[0].folder
    works = Reader(course.assignments_in(name), console).read(against)
    with console.status(f"Comparing {len(works.works)} works …"):
        group = Class(works.works, works.given, works.prose)
        return name, works, group, group.compare()
