"""The results of an exam: each student's points beside what the own paper was expected to earn."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import msgspec
from rich.console import Console

from nbjudge.course.configuration import read_config
from nbjudge.course.course import Exam, find_course
from nbjudge.course.exam import ExamTable
from nbjudge.course.gradebook import gradebook_url
from nbjudge.course.student_change import seed_student
from nbjudge.csv_files import CsvFormat, identifier
from nbjudge.errors import CourseError
from nbjudge.exam.items import ITEMS_FILE, PRIOR_WEIGHT, counted_as
from nbjudge.exam.papers import graded_cell, slot_names
from nbjudge.record.grades import read_grades
from nbjudge.report.page import page_environment, script_and_style
from nbjudge.term.tables import show

STRONGEST = 4.0  # how far a class may be from what was expected, in logits
Shares = dict[str, dict[str, float]]  # by student and item, the share of the points


@dataclass(frozen=True)
class Result:
    """A student's points, what this class would earn with the same paper, and comparable points.

    Comparable points grow with the points: none and all stay what they are, and what a paper was expected to
    earn becomes the mean of all papers.
    """

    student: str
    points: float
    expected: float
    comparable: float


@dataclass(frozen=True)
class ItemResult:
    """What was earned with a task or a question."""

    name: str
    kind: str
    students: int
    earned: float
    expected: float  # before the exam


def shares_of(table: ExamTable, points: Mapping[str, Mapping[str, float]]) -> Shares:
    """Return the share of the points that students earned with each item, from the points of their cells."""
    shares: Shares = {}
    for student, cells in points.items():
        names = table.papers[student]
        kinds = [table.items[name].kind for name in names]
        shares[student] = {
            name: cells.get(graded_cell(slot, kind), 0.0) / table.points[kind]
            for name, kind, slot in zip(names, kinds, slot_names(kinds), strict=True)
        }
    return {student: each for student, each in shares.items() if each}


def compare(table: ExamTable, shares: Shares) -> list[Result]:
    """Compare students with different papers.

    What was expected of an item is moved by how much the class is stronger or weaker than expected, and
    then weighed with what the others earned with it: `PRIOR_WEIGHT` students count as much.
    """
    shift = _strength(table, shares)
    sums, counts = defaultdict[str, float](float), defaultdict[str, int](int)
    for own in shares.values():
        for item, share in own.items():
            sums[item] += share
            counts[item] += 1

    def worth(item: str) -> float:
        return table.points[table.items[item].kind]

    def expected(item: str, own: float) -> float:
        before = PRIOR_WEIGHT * _moved(table.items[item].expected, shift)
        return (before + sums[item] - own) / (PRIOR_WEIGHT + counts[item] - 1)

    papers = {
        student: sum(worth(item) * expected(item, share) for item, share in own.items())
        for student, own in shares.items()
    }
    middle, results = mean(papers.values()), []
    for student, own in shares.items():
        points, most = (sum(worth(item) * each for item, each in pairs) for pairs in (own.items(), _all(own)))
        wanted = papers[student]
        if points <= wanted:
            comparable = points * middle / wanted if wanted else points
        else:
            comparable = middle + (points - wanted) * (most - middle) / (most - wanted)
        results.append(Result(student, points, wanted, comparable))
    return results


def _all(own: Mapping[str, float]) -> Iterable[tuple[str, float]]:
    return ((item, 1.0) for item in own)


def _strength(table: ExamTable, shares: Shares) -> float:
    """Return by how many logits the class did better than expected."""
    pairs = [(table.items[item], share) for own in shares.values() for item, share in own.items()]
    earned = sum(table.points[item.kind] * share for item, share in pairs)
    low, high = -STRONGEST, STRONGEST
    for _ in range(40):
        middle = (low + high) / 2
        if sum(table.points[item.kind] * _moved(item.expected, middle) for item, _ in pairs) < earned:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _moved(share: float, logits: float) -> float:
    return 1 / (1 + (1 - share) / share * math.exp(-logits))


def item_results(table: ExamTable, shares: Shares) -> list[ItemResult]:
    """Return what was earned with each item, the hardest first; questions whatever their numbers."""
    found = defaultdict[tuple[str, str], list[tuple[float, float]]](list)
    for own in shares.values():
        for name, share in own.items():
            item = table.items[name]
            found[counted_as(item.kind, name), item.kind].append((share, item.expected))
    results = [
        ItemResult(name, kind, len(pairs), mean(share for share, _ in pairs), mean(each for _, each in pairs))
        for (name, kind), pairs in found.items()
    ]
    return sorted(results, key=lambda each: (each.earned, each.name))


def write_results(start: Path, name: str, output: Path | None, console: Console) -> None:
    """Write the results of a graded exam: a page, CSV files, and `items.json` for the next exam.

    Raises CourseError if it is no exam, none is graded, or a file cannot be written.
    """
    course = find_course(start)
    exam = course.choose_one(name)
    if not isinstance(exam, Exam):
        raise CourseError(
            f"{name} is no exam: `nbjudge exam` draws one, and `nbjudge report {name}` is for it."
        )
    config = read_config(course.root)
    graded = read_grades(gradebook_url(course.root, config), exam.folder)
    points = {
        student: {cell: grade.points for cell, grade in each.cells.items()}
        for (student, _), each in graded.items()
    }
    drawn_for = {student: seed_student(course.root, exam.folder, student) for student in points}
    papers = {student: exam.table.papers.get(drawn_for[student], []) for student in points}
    table = msgspec.structs.replace(exam.table, papers=papers)
    shares = shares_of(table, points)
    if not shares:
        raise CourseError(
            f"No work of {name} is graded yet: `nbjudge grade {name}` grades what is in submitted/."
        )
    results, items = compare(table, shares), item_results(table, shares)
    folder, csv = output or course.folders.reports / f"{exam.folder}-exam", CsvFormat(config=config)
    rows = [(identifier(each.student), each.points, each.expected, each.comparable) for each in results]
    about = [(each.name, each.kind, each.students, each.earned, each.expected) for each in items]
    expected = [each.expected for each in results]
    environment = page_environment("nbjudge.exam")
    page = environment.get_template("results.html.j2").render(
        exam=exam.folder,
        results=sorted(results, key=lambda each: -each.comparable),
        items=items,
        least=min(expected),
        most=max(expected),
        points=sum(table.points[table.items[item].kind] for item in exam.table.papers[""]),
        **script_and_style(),
    )
    counts = {each.name: (each.students, round(each.earned * each.students, 4)) for each in items}
    files = {
        "index.html": page,
        "students.csv": csv.text([("student", "points", "expected", "comparable points"), *rows]),
        "items.csv": csv.text([("item", "kind", "students", "earned", "expected before"), *about]),
        ITEMS_FILE: json.dumps(counts, indent=1) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise CourseError(
            f"{folder} cannot be written ({error.strerror}): name another with --output."
        ) from error
    moved = max(abs(each.comparable - each.points) for each in results)
    sentences = [
        f"{name}: {len(results)} students earned {mean(each.points for each in results):.1f} points on "
        f"average. With their papers, {min(expected):.1f} to {max(expected):.1f} were expected.",
        f"Comparable points differ from points by {moved:.1f} at most.",
        f"The page: {folder / 'index.html'}",
    ]
    show(console, sentences)
