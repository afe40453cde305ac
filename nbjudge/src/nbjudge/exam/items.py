"""The tasks and questions that papers are drawn from, and how hard each is.

How hard a task is was computed once: the judge calls its wrong answer on drawn inputs, and the more of the
points that costs, the easier the mistake is seen. This is kept in `checks/NOTEBOOK/exam.json`, and computed
again for an exercise whose hunts or case groups have changed. What earlier classes earned counts more, the
more of them there are.
"""

from __future__ import annotations

import ast
import builtins
import copy
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.progress import Progress

from nbjudge.atomic_files import write_atomically
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import caller_of
from nbjudge.course.configuration import suggestion
from nbjudge.course.course import Course
from nbjudge.course.exam import worth
from nbjudge.course.loading import as_python
from nbjudge.errors import CourseError
from nbjudge.exam.blueprint import BLUEPRINT, FIX, QuestionTable, Variant, read_blueprint, variants
from nbjudge.judge.drawn_group import DrawnGroup, draw_groups
from nbjudge.judge.scoring import judge_groups
from nbjudge.parsing import global_names, parsed
from nbjudge.tutor.hunts import Hunt
from nbjudge.tutor.material import TutoredAssignment
from nbjudge.values.kinds import KINDS

MEASURED = "exam.json"
SEEDS = (0, 1)
# What is expected of a task whose wrong answer loses few of the points, and of one that loses all of them.
HARDEST, EASIEST = 0.35, 0.85
PRIOR_WEIGHT = 5  # students whose results count as much as what is expected
LIBRARIES = {name for kind in KINDS for name in kind.names}
ITEMS_FILE = "items.json"  # in the folder of an exam's results


@dataclass(frozen=True)
class Item:
    """A task or a question that can be in a paper."""

    id: str
    kind: str
    family: str  # the exercise, or the question whatever its numbers: a paper has one of each
    lesson: str  # ps1/spread
    expected: float


@dataclass(frozen=True)
class Task(Item):
    """A wrong answer to fix."""

    code: str
    right: str
    imports: tuple[str, ...]
    passes: tuple[str, ...]  # the case groups that the wrong answer passes

    @property
    def right_lines(self) -> frozenset[str]:
        """The lines that only the right answer has, spaces aside."""
        return _lines(self.right) - self.lines

    @property
    def lines(self) -> frozenset[str]:
        return _lines(self.code)


@dataclass(frozen=True)
class Asked(Item):
    """A question with its numbers."""

    variant: Variant


class Measured(msgspec.Struct):
    """What the judge made of the hunts of an exercise."""

    groups: list[str]
    hunts: dict[str, list[str] | None]  # by id the groups that pass; None if it is no task for an exam


def _lines(code: str) -> frozenset[str]:
    return frozenset(" ".join(line.split()) for line in code.splitlines()) - {""}


def find_items(
    course: Course, lessons: str, progress: Progress, earlier: Mapping[str, tuple[int, float]]
) -> list[Item]:
    """Return what papers are drawn from: the blueprints of these notebooks, `*` for all.

    Parameters
    ----------
    course
        The course.
    lessons
        An assignment or notebook, or several with commas between them.
    progress
        Where to show how far the judge is.
    earlier
        What earlier classes earned, see `earlier_results`.

    Raises
    ------
    CourseError
        If there is no such notebook, none has a blueprint, or one cannot be used.
    """
    chosen = {each.names[-1]: each for name in lessons.split(",") for each in course.choose(name.strip())}
    exercises = {name for each in course.assignments.values() if not each.is_exam for name in each.exercises}
    items = list[Item]()
    for lesson, assignment in chosen.items():
        path = assignment.checks_path / BLUEPRINT
        blueprint = read_blueprint(path)
        if blueprint is None:
            continue
        tutored = TutoredAssignment(assignment)
        items += _tasks(tutored, lesson, blueprint.tasks, path, exercises, progress)
        items += _questions(lesson, blueprint.questions, path)
    if not items:
        raise CourseError(
            f"No notebook of {lessons!r} has a blueprint: write {course.folders.checks}/NOTEBOOK/{BLUEPRINT}."
        )
    for name, count in Counter(item.id for item in items).items():
        if count > 1:
            raise CourseError(
                f"Two blueprints have {name.partition('/')[0]!r}, and each task or question needs a name "
                "of its own: rename one."
            )
    return [replace(each, expected=_with(each, earlier)) for each in items]


def _questions(lesson: str, tables: Iterable[QuestionTable], path: Path) -> Iterator[Asked]:
    for table in tables:
        for variant in variants(table, str(path)):
            yield Asked(variant.id, table.kind, table.name, lesson, table.expected, variant)


def _tasks(
    tutored: TutoredAssignment,
    lesson: str,
    names: list[str],
    path: Path,
    exercises: set[str],
    progress: Progress,
) -> Iterator[Task]:
    imports = _imports(tutored)
    for name in names:
        hunts = tutored.hunts(name)
        if not hunts:
            raise CourseError(
                f"{path} has the task {name!r}, which has no hunts. {suggestion(name, tutored.hunt_tables)}"
            )
        right = tutored.solution(name)
        read = set[str]().union(*(global_names(code)[0] for code in (right, *(hunt.code for hunt in hunts))))
        read -= {name, *vars(builtins)}
        others = sorted(read - imports.keys() | read & exercises)
        if others:
            raise CourseError(
                f"{path} has the task {name!r}, whose code needs `{others[0]}` of another cell: a paper has "
                "only what notebooks import. Take it out."
            )
    measured = _measured(tutored, names, path.with_name(MEASURED), progress)
    for name in names:
        right = tutored.solution(name)
        for hunt in tutored.hunts(name):
            passes = measured[name].hunts[hunt.id]
            if passes is None:
                continue
            read = global_names(f"{right}\n{hunt.code}")[0] | LIBRARIES  # to try out what it does
            needed = tuple(dict.fromkeys(imports[each] for each in sorted(read & imports.keys())))
            exercise = tutored.assignment.exercises[name]
            passed = sum(group.points for group in exercise.groups if group.name in passes)
            expected = EASIEST - (EASIEST - HARDEST) * passed / exercise.points
            yield Task(
                f"{name}/{hunt.id}", FIX, name, lesson, expected, hunt.code, right, needed, tuple(passes)
            )


def _imports(tutored: TutoredAssignment) -> dict[str, str]:
    """The statement that imports each name in the notebook."""
    return {
        (alias.asname or alias.name).partition(".")[0]: ast.unparse(statement)
        for cell in tutored.cells
        if cell.cell_type == "code"
        for statement in parsed(as_python(cell.source)).body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    }


def _measured(
    tutored: TutoredAssignment, names: Iterable[str], file: Path, progress: Progress
) -> dict[str, Measured]:
    """Read what the judge made of the hunts, and judge those of changed exercises."""
    known = dict[str, Measured]()
    if file.is_file():
        try:
            known = msgspec.json.decode(file.read_bytes(), type=dict[str, Measured])
        except msgspec.DecodeError as error:
            raise CourseError(f"{file} cannot be read ({error}): remove it, and it is made again.") from None
    found = dict[str, Measured]()
    for name in names:
        groups = [group.name for group in tutored.assignment.exercises[name].groups]
        hunts = tutored.hunts(name)
        old = known.get(name)
        if old is not None and old.groups == groups and {hunt.id for hunt in hunts} == old.hunts.keys():
            found[name] = old
            continue
        exercise, reference = tutored.exercise(name)
        draws = [draw_groups(exercise, reference, seed) for seed in SEEDS]
        task = progress.add_task(f"Judging the hunts of {name}, once", total=len(hunts))
        measure = partial(passed_groups, exercise=exercise, reference=reference, draws=draws)
        results = dict[str, list[str] | None]()
        for hunt in hunts:
            results[hunt.id] = measure(hunt)
            progress.advance(task)
        found[name] = Measured(groups, results)
    if found != known:
        write_atomically(file, (json.dumps(msgspec.to_builtins(found), indent=1) + "\n").encode())
    return found


def passed_groups(
    hunt: Hunt, exercise: Exercise, reference: Any, draws: list[list[DrawnGroup]]
) -> list[str] | None:
    """Return the case groups that a wrong answer passes; None if it is no task for an exam.

    As a task, the wrong answer must earn nothing, and the right one everything.
    """
    plain = copy.copy(exercise)
    plain.mistakes, plain.causes, plain.steps = [], {}, []  # no words are needed

    def judged(exercise: Exercise, answer: Any, groups: list[DrawnGroup], seed: int) -> Any:
        weighted = [
            replace(drawn, group=group, requires_computation=drawn.requires_computation and not late)
            for drawn, group in zip(groups, exercise.groups, strict=True)
            for late in [group.withhold_points]
        ]
        return judge_groups(exercise, weighted, caller_of(answer), seed).verdict

    verdicts = [judged(plain, hunt.function, groups, seed) for groups, seed in zip(draws, SEEDS, strict=True)]
    passes = [
        group.name
        for group in exercise.groups
        if any(each.name == group.name and each.is_earned for verdict in verdicts for each in verdict.groups)
    ]
    task = worth(plain, exercise.points, passes)
    for groups, seed in zip(draws, SEEDS, strict=True):
        if judged(task, hunt.function, groups, seed).points:
            return None
        right = judged(task, reference, groups, seed)
        if right.points != right.max_points:
            return None
    return passes


def earlier_results(reports: Path, exam: str) -> dict[str, tuple[int, float]]:
    """What classes earned in other exams: by task or question, how many students, and their shares' sum."""
    found = dict[str, tuple[int, float]]()
    for file in sorted(reports.glob(f"*/{ITEMS_FILE}")):
        if file.parent.name == f"{exam}-exam":
            continue
        try:
            results = msgspec.json.decode(file.read_bytes(), type=dict[str, tuple[int, float]])
        except (OSError, msgspec.DecodeError) as error:
            raise CourseError(f"{file} cannot be read ({error}): remove it.") from None
        for name, (count, total) in results.items():
            before = found.get(name, (0, 0.0))
            found[name] = before[0] + count, before[1] + total
    return found


def counted_as(kind: str, item: str) -> str:
    """Return what results are counted for: a task by itself, a question whatever its numbers."""
    return item if kind == FIX else item.partition("/")[0]


def _with(item: Item, earlier: Mapping[str, tuple[int, float]]) -> float:
    count, total = earlier.get(counted_as(item.kind, item.id), (0, 0.0))
    return (item.expected * PRIOR_WEIGHT + total) / (PRIOR_WEIGHT + count)
