"""The coverage table: a row for each exercise, a column for each relation that its cases may test."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, Literal

from rich.console import Console
from rich.progress import track

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import Assignment, Course
from nbjudge.errors import CourseError
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.retest import retest_calls
from nbjudge.probe.respond import BUILDERS
from nbjudge.values.kinds import ArrayKind, kind_of
from nbjudge.values.packing import MadeInKernel

SEED = 0  # whose cases are looked at: what is not asked on every seed is asked by chance
LARGE = 50.0  # from where on products of two numbers have exponentials beyond float32
HOW = ("look", "builder")  # of a build, what is no argument
Coverage = Literal["covered", "does not apply", "not covered"]


Arrays = list[tuple[str, Any, ArrayKind]]  # the place, the same in every case, and the value


class DrawnExercise:
    """An exercise's cases on one seed, and everything that they hand over."""

    def __init__(self, exercise: Exercise, reference: Callable[..., Any]) -> None:
        self.exercise, self.reference = exercise, reference
        self.groups = draw_groups(exercise, reference, SEED)
        self.cases = [case for group in self.groups for case in group.cases]
        self.arguments = [entry for case in self.cases for entry in _arguments(case)]
        self.arrays = _arrays(self.arguments)
        self.floats = [entry for entry in self.arrays if entry[2].is_floating(entry[1])]
        self.truths = [
            kind.as_numbers(value) for _, value, kind in self.arrays if kind.dtype(value) == "bool"
        ]
        results = _arrays(
            _values_in([answer.value for group in self.groups for answer in group.expected], "")
        )
        shapes = [[size for size in value.shape if size > 1] for _, value, _ in (*self.arrays, *results)]
        self.shapes = [shape for shape in shapes if len(shape) > 1]  # of what goes in and what comes out

    def any_case(self, holds: Callable[[Case], object]) -> bool:
        """Return whether something is true of a case."""
        return any(map(holds, self.cases))

    def compares_values(self) -> bool:
        compared = (case for group in self.groups if group.expected for case in group.cases)
        return any(case.refuses is None for case in compared)

    def has_leading_axes(self) -> bool:
        axes: dict[str, set[int]] = {}
        for place, value, _ in self.arrays:
            axes.setdefault(place, set()).add(len(value.shape))
        return any(len(counts) > 1 for counts in axes.values())

    def is_large(self) -> bool:
        values = (abs(kind.as_numbers(value)) for _, value, kind in self.floats if value.shape)
        return any(bool((numbers >= LARGE).any()) for numbers in values)

    def can_change_arguments(self) -> bool:
        changeable = (list, dict, MadeInKernel)
        return bool(self.arrays) or any(isinstance(value, changeable) for _, value in self.arguments)

    def has_modes(self) -> bool:
        builds = [case.build for case in self.cases if case.build is not None]
        return any(len(BUILDERS[build.builder].modes(vars(build))) > 1 for build in builds)

    def reference_raises(self) -> bool:
        """Return whether the solution, or a method of it, has a `raise`."""
        reference = self.reference
        functions = vars(reference).values() if isinstance(reference, type) else [reference]
        found = (getattr(function, "__code__", None) for function in functions)
        codes = [code for code in found if isinstance(code, CodeType)]
        return any(step.opname == "RAISE_VARARGS" for code in codes for step in dis.get_instructions(code))


Test = Callable[[DrawnExercise], object]  # returns something true or false


# By the name of each column: whether an exercise's cases cover the relation, and whether they could.
RELATIONS: dict[str, tuple[Test, Test]] = {
    "values": (DrawnExercise.compares_values, lambda d: True),
    "dtypes": (lambda d: len({kind.dtype(value) for _, value, kind in d.floats}) > 1, lambda d: d.floats),
    "leading axes": (DrawnExercise.has_leading_axes, lambda d: d.arrays),
    "unequal sizes": (lambda d: any(len(set(s)) == len(s) for s in d.shapes), lambda d: d.shapes),
    "equal sizes": (lambda d: any(len(set(s)) < len(s) for s in d.shapes), lambda d: d.shapes),
    "large values": (DrawnExercise.is_large, lambda d: d.floats),
    "empty rows": (
        lambda d: any(rows.ndim and bool((~rows.any(axis=-1)).any()) for rows in d.truths),
        lambda d: d.truths,
    ),
    "gradients": (lambda d: d.any_case(lambda case: case.gradients), lambda d: d.floats),
    "arguments unchanged": (DrawnExercise.can_change_arguments, lambda d: False),
    "second call": (lambda d: any(retest_calls(g)[0] for g in d.groups if g.expected), lambda d: True),
    "mode": (DrawnExercise.has_modes, lambda d: d.any_case(lambda case: case.build)),
    "refusal": (
        lambda d: d.any_case(lambda case: case.refuses is not None),
        DrawnExercise.reference_raises,
    ),
    "step not allowed": (lambda d: d.exercise.not_allowed, lambda d: False),
}


def coverage_of(exercise: Exercise, reference: Callable[..., Any]) -> dict[str, Coverage]:
    """Return the coverage of each relation, by its name, on the cases of one seed."""
    drawn = DrawnExercise(exercise, reference)
    return {
        name: "covered" if covers(drawn) else "not covered" if applies(drawn) else "does not apply"
        for name, (covers, applies) in RELATIONS.items()
    }


def _arguments(case: Case) -> Iterator[tuple[str, Any]]:
    """Yield each plain or other value that goes in, behind its place."""
    by_name = {str(number): value for number, value in enumerate(case.args)} | case.kwargs
    by_name |= {"through": case.through}
    if case.build is not None:
        by_name |= {f"build/{name}": value for name, value in vars(case.build).items() if name not in HOW}
    for name, value in by_name.items():
        yield from _values_in(value, name)


def _values_in(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    yield place, value
    if isinstance(value, MadeInKernel):
        value = value.given
    if isinstance(value, (list, tuple, dict)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _values_in(entry, f"{place}/{key}")


def _arrays(values: Iterable[tuple[str, Any]]) -> Arrays:
    kinds = [(place, value, kind_of(value)) for place, value in values]
    return [(place, value, kind) for place, value, kind in kinds if isinstance(kind, ArrayKind)]


BEGIN, END = "<!-- coverage: made by a command, see above -->", "<!-- end of coverage -->"
SIGNS: dict[Coverage, str] = {"covered": "✓", "does not apply": "–", "not covered": "○"}
LEGEND = ", ".join(f"{sign}: {coverage}" for coverage, sign in SIGNS.items())
NO_PLACE = "{page} has no line “{begin}” with a line “{end}” below it: the table is written between the two."

Row = tuple[Exercise, dict[str, Coverage]]


def rows_of(assignments: Iterable[Assignment], console: Console) -> list[Row]:
    """Return every exercise with the coverage of each relation, and show a progress bar."""
    exercises = [
        (assignment, exercise) for assignment in assignments for exercise in assignment.exercises.values()
    ]
    shown = track(exercises, "Looking at the cases", console=console, transient=True)
    return [(each, coverage_of(each, assignment.reference_answer(each.name))) for assignment, each in shown]


def coverage_table(rows: list[Row]) -> str:
    """Return the table in Markdown; its last row counts the exercises that a relation applies to."""
    lines = [f"| exercise | {' | '.join(RELATIONS)} |", f"|---|{':-:|' * len(RELATIONS)}"]
    for exercise, row in rows:
        lines.append(f"| `{exercise.name}` | {' | '.join(SIGNS[row[name]] for name in RELATIONS)} |")
    counts = []
    for name in RELATIONS:
        found = [row[name] for _, row in rows]
        counts.append(f"{found.count('covered')} of {len(found) - found.count('does not apply')}")
    return "\n".join([*lines, f"| **covered** | {' | '.join(counts)} |", "", f"{LEGEND}."])


def write_into(page: Path, coverage: str) -> None:
    """Replace the text between the two comments of a page. Raises CourseError if they are missing."""
    text = page.read_text() if page.is_file() else ""
    before, begin, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begin and ended):
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
