"""Where a course keeps its parts, and how its checks and reference answers are loaded."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
from nbformat import NotebookNode

from nbjudge.authoring.exercise import Exercise
from nbjudge.authoring.limits import Limits
from nbjudge.course.imports import imported_modules
from nbjudge.errors import CourseError

# How the hidden region of a graded cell names its exercise.
CHECK_CALL = re.compile(r"""^\s*check\(\s*["'](\w+)["']\s*\)""", re.MULTILINE)
REFERENCE_ERROR = (
    "The reference answers in {path} do not run: {error}. Mend the source notebook and run `make build`."
)


@dataclass(frozen=True)
class Course:
    """A course directory. The folder names are nbgrader's, as `nbgrader_config.py` sets them."""

    root: Path
    source: str = "source"
    solutions: str = "solutions"

    @cached_property
    def lessons(self) -> dict[str, Lesson]:
        """The lessons by the name of their notebook (with its folder, where another has that name)."""
        lessons: dict[str, Lesson] = {}
        for notebook in sorted((self.root / self.source).glob("*/*.ipynb")):
            key = notebook.stem if notebook.stem not in lessons else f"{notebook.parent.name}/{notebook.stem}"
            lessons[key] = Lesson(self, notebook.parent.name, notebook.stem)
        return lessons

    def lessons_in(self, folder: str) -> list[Lesson]:
        """The lessons of one assignment folder."""
        return [lesson for lesson in self.lessons.values() if lesson.folder == folder]

    def choose(self, pattern: str) -> list[Lesson]:
        """The lessons whose folder or notebook has this name, `*` for all. CourseError if there is none."""
        lessons = list(self.lessons.values())
        chosen = [each for each in lessons if pattern in ("*", each.folder, each.name)]
        if not chosen:
            known = ", ".join(each.folder for each in lessons)
            raise CourseError(f"There is no lesson {pattern!r}. There are: {known}.")
        return chosen

    def exercise(self, name: str) -> tuple[Lesson, Exercise]:
        """The lesson that has an exercise of this name, and the exercise."""
        for lesson in self.lessons.values():
            if name in lesson.exercises:
                return lesson, lesson.exercises[name]
        raise CourseError(f"No file under {self.root / 'checks'} has an exercise called {name!r}.")


@dataclass(frozen=True)
class Lesson:
    """One lesson: its folder (`01_dot_product`) and the name of its notebook (`dot_product`)."""

    course: Course
    folder: str
    name: str

    @property
    def source_path(self) -> Path:
        return self.course.root / self.course.source / self.folder / f"{self.name}.ipynb"

    @property
    def solution_path(self) -> Path:
        return self.course.root / self.course.solutions / self.folder / f"{self.name}.ipynb"

    @cached_property
    def exercises(self) -> dict[str, Exercise]:
        """What the grader asks: every `Exercise` of `checks/NAME.py` or of the files in `checks/NAME/`."""
        values = (value for module in self._checks for value in vars(module).values())
        return {value.name: value for value in values if isinstance(value, Exercise)}

    @cached_property
    def limits(self) -> Limits | None:
        """The lesson's own limits, where its checks hold some; the course's count otherwise."""
        values = (value for module in self._checks for value in vars(module).values())
        return next((value for value in values if isinstance(value, Limits)), None)

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """What the lesson's own code imports, to be imported once for all submissions."""
        code = "\n".join(c.source for c in read_notebook(self.source_path).cells if c.cell_type == "code")
        return tuple(sorted(imported_modules(code)))

    @cached_property
    def _checks(self) -> list[ModuleType]:
        # Checks may import the files that the lesson brings along, as its set-up cell does.
        with _importing_from(self.source_path.parent):
            return _load_checks(self.course.root / "checks" / self.name)

    @cached_property
    def reference(self) -> dict[str, Any]:
        """The names that the solution notebook's set-up and answer cells define."""
        return _run_solution(self.solution_path)

    def problems(self) -> list[str]:
        """What an author has to mend before anyone can be graded, each in one sentence."""
        problems = []
        for cell in read_notebook(self.source_path).cells:
            called = CHECK_CALL.search(cell.source)
            marks = cell.metadata.get("nbgrader", {})
            if not (called and marks.get("grade")):
                continue
            name, cell_id = called.group(1), marks["grade_id"]
            if name not in self.exercises:
                problems.append(
                    f"The cell {cell_id!r} of {self.source_path} calls check({name!r}), "
                    f"but checks/{self.name} has no such exercise: write it there, or mend the name."
                )
            elif self.exercises[name].points != marks["points"]:
                problems.append(
                    f"The cell {cell_id!r} of {self.source_path} is worth {marks['points']:g} points, "
                    f"but the case groups of {name!r} add up to {self.exercises[name].points:g}: "
                    "make the two agree."
                )
            else:
                self.reference_answer(name)
        return problems

    def reference_answer(self, exercise: str) -> Callable[..., Any]:
        try:
            answer = self.reference[exercise]
        except KeyError:
            raise CourseError(
                f"{self.solution_path} defines no {exercise!r}, but checks/{self.name} asks for it: "
                "give the answer cell that name and run `make build`."
            ) from None
        return answer


def read_notebook(path: Path) -> NotebookNode:
    """A notebook of the course's own; CourseError if it is none."""
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CourseError(
            f"{path} cannot be read as a notebook ({reason[:200]}): mend it or restore it."
        ) from error
    return notebook


def find_course(start: Path) -> Course:
    """The course around a folder: the nearest one above it that holds `checks/` and `source/`."""
    for folder in (start, *start.parents):
        if (folder / "checks").is_dir() and (folder / "source").is_dir():
            return Course(folder)
    raise CourseError(
        f"{start} is not inside a course: no folder above it holds both checks/ and source/. "
        "Run this from the course's own folder."
    )


def open_course(root: Path, source: str = "source", solutions: str = "solutions") -> Course:
    """The one `Course` of a folder in this process, so that checks and references load once.

    A file that was changed since makes it a new one: the formgrader lives on while its author works.
    """
    opened = _opened.get(root)
    stamp = _stamp(root, source, solutions)
    if opened is None or opened[0] != stamp:
        opened = _opened[root] = (stamp, Course(root, source, solutions))
    return opened[1]


_opened: dict[Path, tuple[object, Course]] = {}


def _stamp(root: Path, source: str, solutions: str) -> object:
    """When each file that a course is loaded from was last changed."""
    folders = (root / source, root / solutions, root / "checks")
    files = (file for folder in folders for kind in ("ipynb", "py") for file in folder.rglob(f"*.{kind}"))
    return (source, solutions, tuple(sorted((str(file), file.stat().st_mtime_ns) for file in files)))


def _load_checks(checks: Path) -> list[ModuleType]:
    """The modules of `checks/NAME.py` or of `checks/NAME/`, a package whose files may import each other."""
    name = f"checks_{hashlib.sha256(str(checks).encode()).hexdigest()[:12]}"
    if not checks.is_dir():
        file = checks.with_suffix(".py")
        sys.modules.pop(name, None)
        return [_load(file, name)] if file.exists() else []
    for loaded in [other for other in sys.modules if other.startswith(f"{name}.")]:
        del sys.modules[loaded]
    package = ModuleType(name)
    package.__path__ = [str(checks)]
    sys.modules[name] = package
    return [_load(file, f"{name}.{file.stem}") for file in sorted(checks.glob("*.py"))]


def _load(file: Path, name: str) -> ModuleType:
    if name in sys.modules:  # another file of the package has imported it
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise CourseError(f"{file} does not load: {type(error).__name__}: {error}") from error
    return module


def _run_solution(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise CourseError(f"There is no solution notebook at {path}: run `make build`.")
    # Answer cells must know their module's name, or a class defined in one cannot be found again.
    module = ModuleType(f"reference_{path.stem}")
    with _importing_from(path.parent):
        for cell in read_notebook(path).cells:
            marks = cell.metadata.get("nbgrader", {})
            given = marks.get("solution") or (marks.get("locked") and not marks.get("grade"))
            if cell.cell_type == "code" and given:
                try:
                    exec(compile(cell.source, f"{path}#{cell.id}", "exec"), vars(module))
                except Exception as error:
                    raise CourseError(REFERENCE_ERROR.format(path=path, error=error)) from error
    return vars(module)


@contextmanager
def _importing_from(folder: Path) -> Any:
    """Lessons may bring files of their own, which their set-up cell imports."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
