"""The reference answers of a lesson, with no more of its notebook than they stand on.

A solution notebook imports what draws its pictures, which takes longer than all that a learner asks. Here
only those statements run that an answer depends on: what binds a name that it looks up, and so on back.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from nbjudge.course.loading import importing_from
from nbjudge.errors import CourseError
from nbjudge.parsing import parsed


@dataclass(frozen=True)
class PlainCell:
    """A cell of a notebook, read without the library for notebooks, which takes seconds to load."""

    cell_type: str
    source: str
    marks: dict[str, Any]  # nbgrader's

    @property
    def name(self) -> str:
        """Its id for nbgrader."""
        return str(self.marks.get("grade_id", ""))


def read_plain_cells(path: Path) -> list[PlainCell]:
    """The cells of a notebook of the course's own. Raises CourseError where it cannot be read."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return [
            PlainCell(
                cell["cell_type"], "".join(cell["source"]), cell.get("metadata", {}).get("nbgrader", {})
            )
            for cell in notebook["cells"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path} cannot be read as a notebook ({error}): restore it.") from error


def run_references(path: Path, names: Iterable[str]) -> dict[str, Any]:
    """What the given and answer cells of a notebook define, as far as these names need it.

    Raises CourseError where a cell does not run.
    """
    statements = [
        (cell, statement)
        for cell in read_plain_cells(path)
        if cell.cell_type == "code" and _may_define_answers(cell)
        for statement in parsed(cell.source).body
    ]
    needed = needed_statements([statement for _, statement in statements], set(names))
    module = ModuleType(f"reference_{path.stem}")
    with importing_from(path.parent):
        for cell, statement in statements:
            if statement not in needed:
                continue
            code = compile(ast.Module([statement], []), f"{path}#{cell.name}", "exec")
            try:
                exec(code, vars(module))
            except Exception as error:
                raise CourseError(
                    f"The cell {cell.name!r} of {path} does not run: {type(error).__name__}: {error}"
                ) from error
    return vars(module)


def needed_statements(statements: list[ast.stmt], names: set[str]) -> set[ast.stmt]:
    """The statements that bind a name which these names depend on, directly or over others."""
    needed, wanted, before = set[ast.stmt](), set(names), -1
    while before != len(needed):
        before = len(needed)
        for statement in statements:
            if statement not in needed and wanted & set(_bound(statement)):
                needed.add(statement)
                wanted |= {
                    node.id
                    for node in ast.walk(statement)
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
                }
    return needed


def _may_define_answers(cell: PlainCell) -> bool:
    """Answers, and what is given and locked; a test defines nothing that an answer is made of."""
    return bool(cell.marks.get("solution") or (cell.marks.get("locked") and not cell.marks.get("grade")))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement makes or changes at the top level."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.id
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            base: ast.expr = node
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name):
                yield base.id
