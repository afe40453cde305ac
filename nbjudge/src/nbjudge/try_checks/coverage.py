"""The coverage table: a row for each exercise, a column for each relation that its cases may test."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any, Literal

from rich.console import Console
from rich.progress import track

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import Assignment, Course
from nbjudge.errors import CourseError
from nbjudge.judge.drawn_group import DrawnGroup, draw_groups
from nbjudge.judge.retest import retest_calls
from nbjudge.probe.building import BUILDERS
from nbjudge.values.kinds import ArrayKind, kind_of
from nbjudge.values.packing import MadeInKernel

SEED = 0  # whose cases are looked at: what is not asked on every seed is asked by chance
LARGE = 50.0  # from where on products of two numbers have exponentials beyond float32
HOW = ("look", "builder")  # of a build, what is no argument
Coverage = Literal["covered", "does not apply", "not covered"]


class DrawnExercise:
    """Everything that an exercise's cases hand over."""

    def __init__(self, exercise: Exercise, reference: Callable[..., Any]) -> None:
        self.exercise, self.reference = exercise, reference

    @cached_property
    def groups(self) -> list[DrawnGroup]:
        return draw_groups(self.exercise, self.reference, SEED)

    @cached_property
    def cases(self) -> list[Case]:
        return [case for group in self.groups for case in group.cases]

    @cached_property
    def arguments(self) -> list[tuple[str, Any]]:
        """(where, value) for each plain or other value that goes in; the same place in every case."""
        return [entry for case in self.cases for entry in _arguments(case)]

    @cached_property
    def arrays(self) -> list[tuple[str, Any, ArrayKind]]:
        kinds = [(place, value, kind_of(value)) for place, value in self.arguments]
        return [(place, value, kind) for place, value, kind in kinds if isinstance(kind, ArrayKind)]

    @cached_property
    def floats(self) -> list[tuple[str, Any, ArrayKind]]:
        return [entry for entry in self.arrays if entry[2].is_floating(entry[1])]

    @cached_property
    def truths(self) -> list[Any]:
        return [kind.as_numbers(value) for _, value, kind in self.arrays if kind.dtype(value) == "bool"]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of what goes in and what comes out, where two axes or more are longer than 1."""
        results = [answer.value for group in self.groups for answer in group.expected]
        out = [value for _, value in _values_in(results, "") if isinstance(kind_of(value), ArrayKind)]
        shapes = [
            tuple(size for size in value.shape if size > 1)
            for value in [*(value for _, value, _ in self.arrays), *out]
        ]
        return [shape for shape in shapes if len(shape) > 1]


@dataclass(frozen=True)
class Relation:
    """One column of the table: whether an exercise's cases cover it, and whether they could."""

    name: str
    is_covered: Callable[[DrawnExercise], object]  # each returns something true or false
    applies: Callable[[DrawnExercise], object] = lambda drawn: True


def _values(drawn: DrawnExercise) -> bool:
    return any(each.expected and any(case.refuses is None for case in each.cases) for each in drawn.groups)


def _dtypes(drawn: DrawnExercise) -> bool:
    return len({kind.dtype(value) for _, value, kind in drawn.floats}) > 1


def _leading_axes(drawn: DrawnExercise) -> bool:
    axes: dict[str, set[int]] = {}
    for place, value, _ in drawn.arrays:
        axes.setdefault(place, set()).add(len(value.shape))
    return any(len(counts) > 1 for counts in axes.values())


def _large_values(drawn: DrawnExercise) -> bool:
    return any(
        value.shape and bool((abs(kind.as_numbers(value)) >= LARGE).any()) for _, value, kind in drawn.floats
    )


def _empty_rows(drawn: DrawnExercise) -> bool:
    return any(rows.ndim and bool((~rows.any(axis=-1)).any()) for rows in drawn.truths)


def _mode(drawn: DrawnExercise) -> bool:
    builds = [case.build for case in drawn.cases if case.build is not None]
    return any(len(BUILDERS[build.builder].modes(vars(build))) > 1 for build in builds)


def _unchanged(drawn: DrawnExercise) -> bool:
    can_change = any(isinstance(value, (list, dict, MadeInKernel)) for _, value in drawn.arguments)
    return can_change or bool(drawn.arrays)


_has_arrays, _has_floats, _has_two_axes = map(attrgetter, ("arrays", "floats", "shapes"))

RELATIONS = (
    Relation("values", _values),
    Relation("dtypes", _dtypes, _has_floats),
    Relation("leading axes", _leading_axes, _has_arrays),
    Relation(
        "unequal sizes",
        lambda drawn: any(len(set(shape)) == len(shape) for shape in drawn.shapes),
        _has_two_axes,
    ),
    Relation(
        "equal sizes",
        lambda drawn: any(len(set(shape)) < len(shape) for shape in drawn.shapes),
        _has_two_axes,
    ),
    Relation("large values", _large_values, _has_floats),
    Relation("empty rows", _empty_rows, attrgetter("truths")),
    Relation("gradients", lambda drawn: any(case.gradients for case in drawn.cases), _has_floats),
    Relation("arguments unchanged", _unchanged, lambda drawn: False),
    Relation(
        "second call", lambda drawn: any(retest_calls(each)[0] for each in drawn.groups if each.expected)
    ),
    Relation("mode", _mode, lambda drawn: any(case.build for case in drawn.cases)),
    Relation(
        "refusal",
        lambda drawn: any(case.refuses is not None for case in drawn.cases),
        lambda drawn: _raises(drawn.reference),
    ),
    Relation("step not allowed", attrgetter("exercise.not_allowed"), lambda drawn: False),
)


def coverage_of(exercise: Exercise, reference: Callable[..., Any]) -> dict[str, Coverage]:
    """Return the coverage of each relation, by its name, on the cases of one seed."""
    drawn = DrawnExercise(exercise, reference)
    return {relation.name: _coverage(relation, drawn) for relation in RELATIONS}


def _coverage(relation: Relation, drawn: DrawnExercise) -> Coverage:
    if relation.is_covered(drawn):
        return "covered"
    return "not covered" if relation.applies(drawn) else "does not apply"


def _arguments(case: Case) -> Iterator[tuple[str, Any]]:
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
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _values_in(entry, f"{place}/{key}")
    elif isinstance(value, (list, tuple)):
        for number, entry in enumerate(value):
            yield from _values_in(entry, f"{place}/{number}")


def _raises(reference: Callable[..., Any]) -> bool:
    """Whether the solution, or a method of it, has a `raise`."""
    functions = vars(reference).values() if isinstance(reference, type) else [reference]
    codes = [code for each in functions if isinstance(code := getattr(each, "__code__", None), CodeType)]
    return any(step.opname == "RAISE_VARARGS" for code in codes for step in dis.get_instructions(code))


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
