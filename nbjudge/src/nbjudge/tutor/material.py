"""What the tutor knows of an exercise: its checks, its reference, and the notebook's text about it."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment, Course
from nbjudge.course.loading import PlainCell, as_python, read_plain_cells
from nbjudge.course.regions import Regions
from nbjudge.errors import CourseError
from nbjudge.judge.drawn_group import DrawnGroup, draw_groups
from nbjudge.parsing import global_names, parsed, source_of
from nbjudge.quiz import Question
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.hunts import SEED, ExerciseTable, Hunt, read_hunts

HINT = re.compile(r"<details><summary>(Hint[^<]*)</summary>(.*?)</details>", re.DOTALL)


@dataclass(frozen=True)
class WrittenQuestion:
    """A question that is answered in words: a model answer, and the questions it is marked by."""

    model_answer: str
    scheme: str


class TutoredAssignment:
    """An assignment from its source and its checks. Nothing is loaded before it is asked for."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self._groups: dict[tuple[str, int], list[DrawnGroup]] = {}
        self._hunts: dict[str, list[Hunt]] = {}
        self._drawing = threading.Lock()  # a class's learners are served in several threads

    @property
    def folder(self) -> str:
        return self.assignment.folder

    @cached_property
    def coded(self) -> list[str]:
        """The exercises whose answers are code."""
        return [name for name in self.names if name in self.assignment.exercises]

    def drawn_groups(self, name: str, seed: int) -> list[DrawnGroup]:
        """The calls of an exercise and their right answers; the same objects for the same seed."""
        with self._drawing:
            if (name, seed) not in self._groups:
                self._groups[name, seed] = draw_groups(*self.exercise(name), seed)
            return self._groups[name, seed]

    @cached_property
    def _regions(self) -> Regions:
        return Regions.of(read_config(self.assignment.course.root))

    @cached_property
    def cells(self) -> list[PlainCell]:
        return read_plain_cells(self.assignment.source_path)

    @cached_property
    def names(self) -> list[str]:
        """The exercises in the notebook's order, those in words among them."""
        names = [cell.name for cell in self.cells if cell.marks.get("solution")]
        return list(dict.fromkeys(names))

    def exercise(self, name: str) -> tuple[Exercise, Callable[..., Any]]:
        """The checks and the reference of an exercise."""
        return self.assignment.exercises[name], self.assignment.reference_answer(name)

    @cached_property
    def hunt_tables(self) -> dict[str, ExerciseTable]:
        """The hunts of each exercise as their author writes them. Raises CourseError if one is unknown."""
        tables = read_hunts(self.assignment.checks_path / "hunts.toml")
        for name in tables:
            if name not in self.coded:
                raise CourseError(
                    f"{self.assignment.checks_path}/hunts.toml has hunts of {name!r}, which is no exercise "
                    "of its notebook: fix the name."
                )
        return tables

    def hunts(self, name: str) -> list[Hunt]:
        """The hunts of an exercise; the same objects each time. Raises CourseError if one does not fit."""
        table = self.hunt_tables.get(name)
        if name not in self._hunts and table is not None:
            exercise, reference = self.exercise(name)
            solution, draw = self.solution(name), partial(self.drawn_groups, name, SEED)
            self._hunts[name] = [
                Hunt(exercise, reference, solution, table, hunt, draw) for hunt in table.hunts
            ]
        return self._hunts.get(name, [])

    def hints(self, name: str) -> list[tuple[str, str]]:
        """Title and Markdown text of each hint above the answer."""
        place = self._place(name)
        above = self.cells[place - 1] if place else None
        if above is None or above.cell_type != "markdown":
            return []
        return [(title.strip(), text.strip()) for title, text in HINT.findall(above.source)]

    def solution(self, name: str) -> str:
        """The answer cell as the course itself has filled it in."""
        return self._regions.without_solution_delimiters(self.cells[self._place(name)].source).strip("\n")

    def shown_alternatives(self, name: str) -> list[tuple[str, str]]:
        """The strength of each other way, and its code."""
        ways = []
        for way in self.assignment.exercises[name].shown_alternatives:
            lines = source_of(way.answer).splitlines()
            # Without what hangs it on its exercise.
            start = next(i for i, line in enumerate(lines) if line.startswith(("def ", "class ")))
            ways.append((way.good_at, "\n".join(lines[start:])))
        return ways

    @property
    def one_page(self) -> str:
        answers = [self.solution(name) for name in self.coded]
        used = global_names("\n".join(answers))[0]
        statements = [
            statement
            for cell in self.cells
            if cell.cell_type == "code"
            for statement in parsed(as_python(cell.source)).body
            if isinstance(statement, (ast.Import, ast.ImportFrom))
        ]
        imports = [text for text in map(ast.unparse, statements) if global_names(text)[1] & used]
        return "\n\n\n".join(["\n".join(imports), *answers]).strip()

    def written(self, name: str) -> WrittenQuestion | None:
        """The written question of this name; None where the answer is code."""
        place = next((i for i, cell in enumerate(self.cells) if cell.name == name), None)
        if place is None or self.cells[place].cell_type != "markdown":
            return None
        schemes = (self._regions.without_mark_scheme(cell.source)[1] for cell in self.cells[place::-1])
        return WrittenQuestion(self.cells[place].source, next(filter(None, schemes), ""))

    def _place(self, name: str) -> int:
        return next(i for i, cell in enumerate(self.cells) if cell.name == name)


@dataclass(frozen=True)
class Material:
    """The tutor's part of a course: its assignments by folder, and how much it may reveal of each."""

    assignments: Mapping[str, TutoredAssignment]
    disclosure: DisclosureSettings = field(default_factory=DisclosureSettings)

    def find_question(self, name: str, folder: str = "") -> tuple[TutoredAssignment, Question]:
        """The question of this name and its assignment, if possible in this folder. CourseError if none."""
        first = [self.assignments[folder]] if folder in self.assignments else []
        for assignment in [*first, *self.assignments.values()]:
            if name in assignment.assignment.questions:
                return assignment, assignment.assignment.questions[name]
        raise CourseError(f"There is no question {name!r}: give its cell its text back, or take a new copy.")

    def find(self, name: str, folder: str = "") -> TutoredAssignment:
        """The assignment of an exercise, if possible in this folder. CourseError where there is none."""
        first = [self.assignments[folder]] if folder in self.assignments else []
        for assignment in [*first, *self.assignments.values()]:
            if name in assignment.names:
                return assignment
        assignments = first or list(self.assignments.values())
        known = ", ".join(known for assignment in assignments for known in assignment.names)
        raise CourseError(f"There is no exercise {name!r}. The exercises are: {known}.")


def material_of(course: Course, default: Disclosure = Disclosure.FULL) -> Material:
    """Return the material of a course; `default` is the disclosure where its configuration sets none.

    Raises CourseError if the configuration's section `Tutor` names an option, assignment or disclosure that
    does not exist.
    """
    assignments = {
        assignment.folder: TutoredAssignment(assignment) for assignment in course.assignments.values()
    }
    return Material(assignments, DisclosureSettings.of(tutor_options(course), assignments, default))


def tutor_options(course: Course) -> dict[str, Any]:
    """Return the section `Tutor` of a course's configuration, unchecked."""
    return dict(read_config(course.root).get("Tutor", {}))
