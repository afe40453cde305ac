"""A course and its assignments: notebooks, checks and reference answers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nbjudge.authoring.exercise import Exercise, Variable
from nbjudge.course.configuration import read_config, suggestion
from nbjudge.course.exam import PAPERS, ExamTable, read_table, worth
from nbjudge.course.folders import CourseFolders, find_root, read_folders
from nbjudge.course.loading import (
    Notebook,
    imported_modules,
    in_folder,
    load_checks,
    put_in_order,
    read_plain_cells,
)
from nbjudge.course.regions import Regions
from nbjudge.course.student_change import seed_student
from nbjudge.errors import CourseError
from nbjudge.plain_text import first_few
from nbjudge.quiz import Question, read_question
from nbjudge.settings import GradingSettings, Limits
from nbjudge.submission.files import plain_file_names

DIGITS = 16  # hexadecimal ones of a digest; no one gains by two that are equal

# How the hidden region of a graded cell names its exercise.
CHECK_CALL = re.compile(r"""^\s*check\(\s*["'](\w+)["']\s*\)""", re.MULTILINE)


TWICE = (
    "The checks of {checks} have two exercises for `{name}`, and a notebook has one for each function: put "
    "all case groups into one of them, and leave the other cell to its own test."
)
QUESTION = (
    "The question {name!r} must have the id of its cell, {cell!r}, as its name, and `right`, `replies` and "
    "`within` in a region of hidden tests: put them there, or students get the key."
)
NO_PAPER = (
    "{student!r} has no paper of {exam}: put the student at the end of the roster, and draw again with the "
    "same key."
)
WITHOUT_CHECKS = "Without checks, points are changed in the formgrader."


class Course:
    """A course: its assignments, in the folders that nbgrader's configuration names, or in the given ones."""

    def __init__(self, root: Path, folders: CourseFolders | None = None) -> None:
        self.root = root = root.absolute()  # checks and references load with another working folder
        folders = read_folders(root) if folders is None else folders
        self.folders = replace(folders, root=folders.root.absolute())

    @cached_property
    def changed_arguments(self) -> str:
        """Return what changed arguments cost in exercises that do not say it, see `Exercise`.

        Raises SettingsError if the course's configuration has an unknown option or value.
        """
        return str(GradingSettings(config=read_config(self.root)).changed_arguments)

    @cached_property
    def assignments(self) -> dict[str, Assignment]:
        """The assignments by the name of their notebook (with its folder, where another has that name)."""
        assignments: dict[str, Assignment] = {}
        for notebook in self.folders.source_notebooks():
            folder, name = notebook.parent.name, notebook.stem
            key = name if name not in assignments else f"{folder}/{name}"
            assignments[key] = self._assignment(folder, name)
        # An exam has exercises of others, which are found there first.
        return dict(sorted(assignments.items(), key=lambda each: each[1].is_exam))

    def _assignment(self, folder: str, name: str) -> Assignment:
        if not (self.folders.checks / name / PAPERS).is_file():
            return Assignment(self, folder, name)
        return Exam(self, folder, name)

    def assignments_in(self, folder: str) -> list[Assignment]:
        """The assignments of one assignment folder."""
        return [assignment for assignment in self.assignments.values() if assignment.folder == folder]

    def choose(self, pattern: str) -> list[Assignment]:
        """The notebooks of this assignment, of this name (`ps1/problem2` or `problem2`), `*` for all.

        An exam must be named. Raises CourseError if there is none.
        """
        chosen = [
            assignment
            for assignment in self.assignments.values()
            if (pattern == "*" and not assignment.is_exam) or pattern in assignment.names
        ]
        if not chosen:
            known = self._shortest_names()
            advice = suggestion(pattern, known) if known else f"{self.folders.source} has none."
            raise CourseError(f"There is no assignment {pattern!r}. {advice}")
        return chosen

    def choose_one(self, pattern: str) -> Assignment:
        """The one notebook that `choose` finds. Raises CourseError if there are none or several."""
        first, *others = self.choose(pattern)
        if others:
            names = ", ".join(f"{each.folder}/{each.name}" for each in (first, *others))
            raise CourseError(f"{pattern!r} has {len(others) + 1} notebooks: name one of {names}.")
        return first

    def _shortest_names(self) -> list[str]:
        """Each notebook's folder, and where a folder has several, their names behind it."""
        folders = Counter(assignment.folder for assignment in self.assignments.values())
        return [
            assignment.folder if folders[assignment.folder] == 1 else f"{assignment.folder}/{assignment.name}"
            for assignment in self.assignments.values()
        ]

    def exercise(self, name: str) -> tuple[Assignment, Exercise]:
        """The assignment that has an exercise of this name, and the exercise."""
        for assignment in self.assignments.values():
            if name in assignment.exercises:
                return assignment, assignment.exercises[name]
        known = [name for assignment in self.assignments.values() for name in assignment.exercises]
        has = suggestion(name, known) if known else WITHOUT_CHECKS
        raise CourseError(f"No file under {self.folders.checks} has an exercise called {name!r}. {has}")


@dataclass(frozen=True)
class AssignmentSummary:
    """The facts of a sound assignment that a run needs before it gives a notebook to a worker."""

    limits: Limits | None
    judged_cells: dict[str, tuple[str, float]]


@dataclass(frozen=True)
class Assignment:
    """One assignment: its folder (`ps1`) and the name of its notebook (`spread`)."""

    course: Course
    folder: str
    name: str
    student: str = ""  # whose paper of an exam it is; empty otherwise

    @property
    def names(self) -> tuple[str, ...]:
        """Return what it is called on a command line: its assignment, its notebook, or both."""
        return self.folder, self.name, f"{self.folder}/{self.name}"

    @property
    def is_exam(self) -> bool:
        """Return whether each student has a paper of their own, see `nbjudge.course.exam`."""
        return False

    def for_student(self, student: str) -> Assignment:
        """Return the assignment as a student has it: the same for all, but of an exam the student's paper.

        Raises CourseError if it is an exam of which the student has no paper.
        """
        return self

    @property
    def lenders(self) -> list[Assignment]:
        """The other assignments whose checks it needs."""
        return []

    @property
    def source_path(self) -> Path:
        return self.course.folders.source / self.folder / f"{self.name}.ipynb"

    @property
    def release_path(self) -> Path:
        return self.course.folders.release / self.folder / f"{self.name}.ipynb"

    @property
    def solution_path(self) -> Path:
        return self.course.folders.solution / self.folder / f"{self.name}.ipynb"

    @property
    def checks_path(self) -> Path:
        """The folder of the assignment's checks; with `.py`, the file that they are kept in, or begin in."""
        return self.course.folders.checks / self.name

    @property
    def checks_files(self) -> list[Path]:
        """List what holds the checks: `checks/NAME.py`, the folder `checks/NAME`, both or neither."""
        return [path for path in (self.checks_path.with_suffix(".py"), self.checks_path) if path.exists()]

    @cached_property
    def exercises(self) -> dict[str, Exercise]:
        """Every `Exercise` of `checks/NAME.py` and of the files in `checks/NAME/`."""
        exercises: dict[str, Exercise] = {}
        for value in self._checks:
            if isinstance(value, Exercise) and exercises.setdefault(value.name, value) is not value:
                raise CourseError(TWICE.format(name=value.name, checks=self.checks_path))
        for exercise in exercises.values():
            put_in_order(exercise)
            exercise.changed_arguments = exercise.changed_arguments or self.course.changed_arguments
        return exercises

    @cached_property
    def limits(self) -> Limits | None:
        """The assignment's own limits, where its checks hold some; the course's count otherwise."""
        return next((value for value in self._checks if isinstance(value, Limits)), None)

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """Return what the assignment's own code imports where it is graded, to be imported once for all."""
        cells = read_plain_cells(self.source_path)
        code = "\n".join(c.source for c in cells if c.cell_type == "code" and not c.is_left_out)
        return tuple(sorted(imported_modules(code)))

    @cached_property
    def material(self) -> dict[str, str]:
        """Digests of what its author has written, by path, see `material_digests`."""
        return material_digests(self.course.root, self.source_path, self.checks_files)

    @cached_property
    def _checks(self) -> list[Any]:
        """The values that the assignment's checks define or import."""
        # Checks may import the files that the assignment brings along, as its set-up cell does.
        with in_folder(self.source_path.parent):
            return [value for module in load_checks(self.checks_path) for value in vars(module).values()]

    @cached_property
    def _notebook(self) -> Notebook:
        """The notebook that has the answers: the solution, or else the source, which it is made from."""
        folder = self.source_path.parent  # with the files that students' kernels get
        if not self.solution_path.exists():
            return Notebook(self.source_path, folder)
        command = f"`nbgrader generate_solution --force {shlex.quote(self.folder)}`"
        return Notebook(
            self.solution_path, folder, f"After a change of the source make the solution again: {command}."
        )

    @cached_property
    def _references(self) -> dict[str, Any]:
        return {}

    @cached_property
    def questions(self) -> dict[str, Question]:
        """The questions of the notebook, by name, which is the id of their graded cell.

        Raises CourseError if one cannot be read, has another name or shows its key to students.
        """
        regions, questions = Regions.of(read_config(self.course.root)), {}
        for cell in read_plain_cells(self.source_path):
            if cell.cell_type == "code" and cell.marks.get("grade"):
                question = read_question(cell.source)
                if question is not None and question.right is not None:
                    shown = read_question(regions.without_hidden_tests(cell.source)[0])
                    if question.name != cell.name or shown != question.without_key():
                        raise CourseError(QUESTION.format(name=question.name, cell=cell.name))
                    questions[cell.name] = question
        return questions

    @cached_property
    def judged_cells(self) -> dict[str, tuple[str, float]]:
        """The graded cells that the judge decides: by their id, the exercise and the cell's points."""
        chosen = self._chosen_cells() | {name: name for name in self.questions}
        cells = {}
        for cell in read_plain_cells(self.source_path):
            if cell.cell_type == "code" and cell.marks.get("grade"):
                called = CHECK_CALL.search(cell.source)
                name = called.group(1) if called else chosen.get(cell.name)
                if name is not None:
                    cells[cell.name] = name, cell.marks["points"]
        return cells

    def _chosen_cells(self) -> dict[str, str]:
        """The exercises that name a cell themselves, by its id."""
        return {exercise.cell: name for name, exercise in self.exercises.items() if exercise.cell}

    @property
    def exercise_of_cell(self) -> dict[str, str]:
        """The exercises that decide the points of graded cells, by the cells' ids."""
        return {cell: name for cell, (name, _) in self.judged_cells.items()}

    @cached_property
    def problems(self) -> list[str]:
        """Return what the author must fix before a student can be graded, one sentence each."""
        problems = [
            f"The exercise {name!r} of checks/{self.name} decides the points of a cell {exercise.cell!r}, "
            f"and {self.source_path} has no graded code cell with that id: fix the id."
            for name, exercise in self.exercises.items()
            if exercise.cell and exercise.cell not in self.judged_cells
        ]
        for cell_id, (name, points) in self.judged_cells.items():
            if name in self.questions:
                continue
            if name not in self.exercises:
                problems.append(
                    f"The cell {cell_id!r} of {self.source_path} calls check({name!r}), "
                    f"but checks/{self.name} has no such exercise: write it there, or fix the name."
                )
            elif self.exercises[name].points != points:
                problems.append(
                    f"The cell {cell_id!r} of {self.source_path} is worth {points:g} points, "
                    f"but the case groups of {name!r} add up to {self.exercises[name].points:g}: "
                    "make the two agree."
                )
            else:
                self.reference_answer(name)
        return problems

    def summary(self) -> AssignmentSummary | None:
        """Return what a process that loads no checks needs of them; None if the author must fix something."""
        try:
            return None if self.problems else AssignmentSummary(self.limits, self.judged_cells)
        except CourseError:
            return None

    def use_summary(self, summary: AssignmentSummary) -> None:
        """Take over what another process found, so that this one need not import what the checks import."""
        vars(self).update(limits=summary.limits, judged_cells=summary.judged_cells, problems=[])

    def reference_answer(self, exercise: str) -> Any:
        """The function or class that the solution has as the answer to an exercise.

        Of a variable, a function that returns its value. Raises CourseError where it cannot be loaded.
        """
        if exercise not in self._references and isinstance(self.exercises.get(exercise), Variable):
            variables = {
                name: each
                for name, each in self.exercises.items()
                if isinstance(each, Variable) and (name == exercise or self._graded_cells(name))
            }
            values = self._notebook.values(
                {name: each.needed for name, each in variables.items()},
                {name: self._graded_cells(name) for name in variables},
            )
            for name, each in variables.items():
                each.values, self._references[name] = values[name], each.right_value
        if exercise not in self._references:
            self._references[exercise] = self._notebook.load(exercise, self._graded_cells(exercise))
        return self._references[exercise]

    def _graded_cells(self, exercise: str) -> list[str]:
        return [cell for cell, name in self.exercise_of_cell.items() if name == exercise]


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
        return read_table(self.checks_path / PAPERS)

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


def find_course(start: Path) -> Course:
    """The course around a folder. Raises CourseError where there is none."""
    return Course(find_root(start))


def open_course(root: Path, folders: CourseFolders | None = None) -> Course:
    """The one `Course` of a folder in this process, so that checks and references load once.

    A file that was changed since makes it a new one: the formgrader lives on while its author works.
    """
    root = root.absolute()
    if root in _unchanging:
        return _unchanging[root]
    folders = read_folders(root) if folders is None else folders
    loaded_from = folders, _modification_times(folders)
    if root not in _opened or _opened[root][0] != loaded_from:
        _opened[root] = loaded_from, Course(root, folders)
    return _opened[root][1]


@contextmanager
def without_changes(course: Course) -> Iterator[None]:
    """Have `open_course` return this course in a `with` block, and not look for changed files every time."""
    _unchanging[course.root] = course
    try:
        yield
    finally:
        del _unchanging[course.root]


_opened: dict[Path, tuple[object, Course]] = {}
_unchanging: dict[Path, Course] = {}


def _modification_times(folders: CourseFolders) -> dict[str, int]:
    """Return when each file that a course is loaded from was last changed."""
    loaded = (folders.solution, folders.checks)
    files = [file for folder in loaded for kind in ("ipynb", "py") for file in folder.rglob(f"*.{kind}")]
    files += [file for file in folders.source.rglob("*") if file.is_file()]  # a notebook's data, too
    files += folders.root.glob("nbgrader_config.*")
    return {str(file): file.stat().st_mtime_ns for file in files}


def material_digests(root: Path, source: Path, checks: Iterable[Path]) -> dict[str, str]:
    """Digests of what the points of a notebook depend on besides the submission, by path in the course.

    That is the source notebook without its outputs, each file of checks, and, under the name of their
    folder, the files beside the notebook.
    """
    cells = [(c.cell_type, c.source, dict(c.marks), list(c.tags)) for c in read_plain_cells(source)]
    contents = {source: json.dumps(cells, sort_keys=True).encode()}
    for path in checks:
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        contents |= {file: file.read_bytes() for file in files}
    beside = source.parent
    extra = [
        os.fsencode(name) + hashlib.sha256((beside / name).read_bytes()).digest()
        for name in sorted(plain_file_names(beside))
    ]
    if extra:
        contents[beside] = b"".join(extra)
    return {
        os.path.relpath(path, root): hashlib.sha256(content).hexdigest()[:DIGITS]
        for path, content in contents.items()
    }


def changed_sentence(assignment: str, students: int, changed: Collection[str], command: str) -> str:
    """Say that work was graded before its author changed these files, and which command grades it again."""
    were = "1 submission was" if students == 1 else f"{students} submissions were"
    before = f"graded before {first_few(sorted(changed))} changed"
    it = "it" if students == 1 else "them"
    return f"{assignment}: {were} {before}: `{command} {shlex.quote(assignment)} --force` grades {it} again."
