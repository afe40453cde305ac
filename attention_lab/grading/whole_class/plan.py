"""Which submissions are new or were changed since they were graded.

Looks at files only, and imports neither nbgrader nor torch: where there is nothing to do, a class
of a thousand is done with in a moment.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from attention_lab.errors import CourseError
from attention_lab.grading.files import entries
from attention_lab.grading.handed_in import students
from attention_lab.grading.interrupted import is_done
from attention_lab.grading.timestamps import NAME as TIMESTAMP
from attention_lab.grading.timestamps import has_timestamp

Why = Literal["new", "changed", "again"]
CONFIG = "nbgrader_config.py"


@dataclass(frozen=True)
class ClassFolders:
    """Where a course keeps its notebooks and its class's work: nbgrader's own settings."""

    root: Path
    source: str = "source"
    solutions: str = "solution"
    submitted: str = "submitted"
    autograded: str = "autograded"
    structure: str = os.path.join("{nbgrader_step}", "{student_id}", "{assignment_id}")

    def folder(self, step: str, student: str, assignment: str) -> Path:
        return self.root / self.structure.format(
            nbgrader_step=step, student_id=student, assignment_id=assignment
        )

    def assignments(self) -> list[str]:
        """The assignments that have a source notebook."""
        notebooks = (self.root / self.source).glob("*/*.ipynb")
        return sorted({notebook.parent.name for notebook in notebooks})

    def notebooks(self, assignment: str) -> list[str]:
        """The file names of an assignment's notebooks."""
        return sorted(notebook.name for notebook in (self.root / self.source / assignment).glob("*.ipynb"))

    def students(self, assignment: str) -> list[str]:
        """Who handed in something for this assignment."""
        return students(self.root, self.structure, self.submitted, assignment)


@dataclass(frozen=True)
class Plan:
    """What there is to do: students with the reason, and how many are graded already."""

    folders: ClassFolders
    assignment: str
    todo: dict[str, Why]
    unchanged: int


def find_root(start: Path) -> Path:
    """The nearest folder above (or this one) that is a course's. Raises CourseError where there is none."""
    for folder in (start, *start.parents):
        if (folder / CONFIG).is_file() and (folder / read_folders(folder).source).is_dir():
            return folder
    raise CourseError(
        f"{start} is not inside a course: no folder above it holds {CONFIG} and the course's source "
        "notebooks. Run this from the course's own folder."
    )


def read_config(root: Path) -> Config:
    """What `nbgrader_config.py` says."""
    try:
        return PyFileConfigLoader(CONFIG, path=str(root)).load_config()
    except FileNotFoundError:
        return Config()
    except Exception as error:
        raise CourseError(f"{root / CONFIG} does not load: {type(error).__name__}: {error}") from error


def read_folders(root: Path) -> ClassFolders:
    """The folders of the course at `root`, as nbgrader would find them."""
    said: Any = read_config(root).get("CourseDirectory", {})
    named = {
        "source": "source_directory",
        "solutions": "solution_directory",
        "submitted": "submitted_directory",
        "autograded": "autograded_directory",
        "structure": "directory_structure",
    }
    return ClassFolders(root, **{ours: said[theirs] for ours, theirs in named.items() if theirs in said})


def make_plan(folders: ClassFolders, assignment: str, students: str = "*", force: bool = False) -> Plan:
    """Which of the students that match the pattern are to be graded.

    Raises CourseError where the lesson is missing, nobody handed it in, or nobody matches.
    """
    known = folders.assignments()
    if assignment not in known:
        # As on the other commands, the notebook's own name will do.
        named = {path.stem: path.parent.name for path in (folders.root / folders.source).glob("*/*.ipynb")}
        if assignment not in named:
            raise CourseError(f"There is no lesson {assignment!r}. There are: {', '.join(known) or 'none'}.")
        assignment = named[assignment]
    handed_in = folders.students(assignment)
    if not handed_in:
        where = folders.folder(folders.submitted, "STUDENT", assignment)
        raise CourseError(
            f"Nobody has handed in {assignment}: there is no folder {where}. Collect it with "
            f"`nbgrader collect {assignment}`, or put each student's files into such a folder."
        )
    chosen = [student for student in handed_in if fnmatchcase(student, students)]
    if not chosen:
        raise CourseError(
            f"None of the {len(handed_in)} students who handed in {assignment} matches {students!r}; "
            f"the first is {handed_in[0]!r}."
        )
    notebooks = folders.notebooks(assignment)
    reasons = {student: _why(folders, assignment, notebooks, student, force) for student in chosen}
    todo = {student: why for student, why in reasons.items() if why is not None}
    return Plan(folders, assignment, todo, len(chosen) - len(todo))


def _why(
    folders: ClassFolders, assignment: str, notebooks: list[str], student: str, force: bool
) -> Why | None:
    """Why this submission is to be graded; None where it need not be."""
    submitted = folders.folder(folders.submitted, student, assignment)
    graded = folders.folder(folders.autograded, student, assignment)
    done = [graded / name for name in notebooks]
    if not all(is_done(notebook) for notebook in done):
        return "new"
    if force:
        return "again"
    if has_timestamp(submitted) and not _same_time(submitted, graded):
        return "changed"
    last = min(notebook.stat().st_mtime_ns for notebook in done)
    try:
        return "changed" if any(moment > last for moment in _moments(submitted)) else None
    except OSError:  # it cannot be read, which grading it will say
        return "changed"


def _same_time(submitted: Path, graded: Path) -> bool:
    return has_timestamp(graded) and (submitted / TIMESTAMP).read_bytes() == (graded / TIMESTAMP).read_bytes()


def _moments(folder: Path) -> Iterator[int]:
    """When each file was put here, not when it was last written: a copy may keep the older time."""
    if not folder.is_dir():
        yield os.lstat(folder).st_ctime_ns
        return
    for entry in entries(folder):
        if not stat.S_ISDIR(entry.about.st_mode):
            yield entry.about.st_ctime_ns
