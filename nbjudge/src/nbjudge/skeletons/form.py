"""The form of a course's assignments and exercises: templates, which a course may hand over as its own.

In all of them `$name` and the like stand for what an assignment or an exercise has of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template
from typing import Any

import nbformat
from nbformat import NotebookNode

PLAIN = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
# What nbgrader is told of a code cell, by what the cell is for.
MARKS: dict[str, dict[str, Any]] = {
    "given": {"locked": True},
    "answer": {"solution": True},
    "graded": {"grade": True, "locked": True, "cell_type": "code"},
}


@dataclass(frozen=True)
class Cell:
    """A cell to be: a text, code that is anybody's, or code that is given, an answer or graded."""

    id: str
    source: str
    kind: str = "text"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    points: float | None = None

    def filled(self, values: Mapping[str, str]) -> NotebookNode:
        """The cell of a notebook, with these values in their places."""
        cell_id, source = (Template(text).substitute(values) for text in (self.id, self.source))
        if self.kind == "text":
            return nbformat.v4.new_markdown_cell(source, id=cell_id, metadata=dict(self.metadata))
        metadata = dict(self.metadata)
        if self.kind in MARKS:
            points = {} if self.points is None else {"points": self.points}
            metadata["nbgrader"] = PLAIN | MARKS[self.kind] | points | {"grade_id": cell_id}
        return nbformat.v4.new_code_cell(source, id=cell_id, metadata=metadata)


@dataclass(frozen=True)
class ExerciseForm:
    """What one exercise consists of: cells of the notebook and a file of checks.

    `values` are what its templates say in places that differ by course.
    """

    cells: tuple[Cell, ...]
    checks: str
    values: Mapping[str, str] = field(default_factory=dict)
    #: What its answer imports, where an assignment keeps all its answers on one page.
    page_imports: str = ""


@dataclass(frozen=True)
class Form:
    """What an assignment consists of, before and after its exercises; a function and a layer as exercises."""

    opening: tuple[Cell, ...]
    ending: tuple[Cell, ...]
    function: ExerciseForm
    layer: ExerciseForm
    #: Files that lie beside an assignment's checks from the beginning, by their names.
    files: Mapping[str, str] = field(default_factory=dict)
    #: That one of them which every new exercise adds its answer to.
    page: str = ""
    #: The command that an author types, and the one that makes release and solution.
    program: str = "nbjudge"
    build: str = "nbgrader generate_assignment --force $folder && nbgrader generate_solution --force $folder"
    #: What is said last, once there is an exercise.
    advice: str = ""
