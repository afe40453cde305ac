"""An exam: an assignment of which each student has a paper of their own, with the same cells and points.

`nbjudge.exam` draws it. `source/EXAM` has a sample paper, from which nbgrader knows the cells; the papers are
in `checks/EXAM/papers/STUDENT`, with their keys, beside the table of what was drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import PAPERS, Assignment, material_digests
from nbjudge.course.loading import Notebook
from nbjudge.course.student_change import seed_student
from nbjudge.errors import CourseError
from nbjudge.settings import Limits

QUARTERS = 4  # points are given in quarters, whose sums are exact
NO_PAPER = (
    "{student!r} has no paper of {exam}: put the student at the end of the roster, and draw again with the "
    "same key."
)


class DrawnItem(msgspec.Struct, frozen=True):
    """What the table keeps of a task or a question that is in a paper."""

    kind: str
    expected: float  # the share of its points that is earned on average
    exercise: str = ""  # of a task
    passes: list[str] = []  # the case groups that its wrong answer passes


class ExamTable(msgspec.Struct, frozen=True):
    """What was drawn."""

    minutes: int
    points: dict[str, float]  # of a task or question of each kind
    modules: list[str]  # that papers import
    lessons: dict[str, str]  # by exercise, the notebook whose checks judge it: ps1/spread
    items: dict[str, DrawnItem]
    papers: dict[str, list[str]]  # by student the items, in the order of the paper; "" is the sample


@dataclass(frozen=True)
class Exam(Assignment):
    """An exam: the sample paper, or a student's."""

    @property
    def is_exam(self) -> bool:
        return True

    @property
    def source_path(self) -> Path:
        if not self.student:
            return super().source_path
        return self.checks_path / "papers" / self.student / f"{self.name}.ipynb"

    def for_student(self, student: str) -> Exam:
        # A student who has another id by now keeps the paper.
        student = seed_student(self.course.root, self.folder, student)
        if student not in self.table.papers:
            raise CourseError(NO_PAPER.format(student=student, exam=self.folder))
        return replace(self, student=student)

    @cached_property
    def table(self) -> ExamTable:
        """What was drawn. Raises CourseError if it cannot be read."""
        file = self.checks_path / PAPERS
        try:
            return msgspec.json.decode(file.read_bytes(), type=ExamTable)
        except (OSError, msgspec.DecodeError) as error:
            raise CourseError(f"{file} cannot be read ({error}): restore it from a backup.") from None

    @cached_property
    def lenders(self) -> list[Assignment]:
        known = {f"{each.folder}/{each.name}": each for each in self.course.assignments.values()}
        missing = sorted(set(self.table.lessons.values()) - set(known))
        if missing:
            raise CourseError(f"The exam {self.folder} has tasks of {missing[0]}, which is gone: restore it.")
        return [known[name] for name in sorted(set(self.table.lessons.values()))]

    @cached_property
    def exercises(self) -> dict[str, Exercise]:
        """The exercises of the paper's tasks, worth the points of a task."""
        found, table = {}, self.table
        for item in map(table.items.__getitem__, table.papers[self.student]):
            if item.exercise:
                lender = next(
                    each
                    for each in self.lenders
                    if f"{each.folder}/{each.name}" == table.lessons[item.exercise]
                )
                if item.exercise not in lender.exercises:
                    raise CourseError(
                        f"The exam {self.folder} has a task on {item.exercise!r}, which the checks of "
                        f"{lender.name} do not have any more: restore it."
                    )
                exercise = lender.exercises[item.exercise]
                found[item.exercise] = worth(exercise, table.points[item.kind], item.passes)
        return found

    @cached_property
    def limits(self) -> Limits | None:
        return None  # the course's

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """The same for all papers, so that one fork server is enough."""
        return tuple(self.table.modules)

    @cached_property
    def material(self) -> dict[str, str]:
        checks = [file for each in self.lenders for file in each.checks_files]
        sample = replace(self, student="").source_path
        return material_digests(self.course.root, sample, [self.checks_path / PAPERS, *checks])

    @cached_property
    def _notebook(self) -> Notebook:
        return Notebook(self.source_path, self.source_path.parent)

    def _chosen_cells(self) -> dict[str, str]:
        return {}  # so that nothing is loaded where only the cells are asked for


def worth(exercise: Exercise, points: float, passes: Collection[str]) -> Exercise:
    """Return an exercise whose groups are worth so many points together.

    The groups that the wrong answer of a task passes as well earn nothing before another one does.
    """
    result = copy.copy(exercise)
    shares = in_quarters([group.points for group in exercise.groups], points)
    result.groups = [
        replace(
            group, points=share, withhold_points=group.withhold_points or group.name in passes
        )
        for group, share in zip(exercise.groups, shares, strict=True)
    ]
    return result


def in_quarters(parts: list[float], points: float) -> list[float]:
    """Share out points in proportion to the parts, in quarters, and at least one quarter each."""
    wanted = [part * points * QUARTERS / sum(parts) for part in parts]
    shares = [max(1, int(each)) for each in wanted]
    while (rest := round(points * QUARTERS) - sum(shares)) != 0:
        step = 1 if rest > 0 else -1
        index = max(range(len(parts)), key=lambda at: step * (wanted[at] - shares[at]))
        shares[index] += step
    return [share / QUARTERS for share in shares]
