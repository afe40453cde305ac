"""Where a course keeps its notebooks and its class's work."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbjudge.course.configuration import CONFIG, read_config
from nbjudge.course.students import students
from nbjudge.errors import CourseError


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


def find_root(start: Path) -> Path:
    """The nearest folder above (or this one) that is a course's. Raises CourseError where there is none."""
    for folder in (start, *start.parents):
        if (folder / CONFIG).is_file() and (folder / read_folders(folder).source).is_dir():
            return folder
    raise CourseError(
        f"{start} is not inside a course: no folder above it holds {CONFIG} and the course's source "
        "notebooks. Run this from the course's own folder."
    )


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
