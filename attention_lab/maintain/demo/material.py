"""What an invented class writes with: for each exercise its stub, its right answers and its mistakes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from nbformat import NotebookNode

from attention_lab.maintain.demo.transplant import cell_of
from nbjudge.authoring.exercise import Exercise
from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_notebook


@dataclass(frozen=True)
class Material:
    """The texts of answer cells for one exercise.

    The reference may call the student's earlier answers; `right` and `mistakes` are on their own.
    """

    exercise: Exercise
    stub: str
    reference: str
    uses: int  # cells of the notebook that call it
    right: list[str] = field(default_factory=list)
    mistakes: dict[str, str] = field(default_factory=dict)


def material_of(lesson: Assignment, release: NotebookNode) -> dict[str, Material]:
    """The material for every exercise of a lesson, in the order of its notebook."""
    solution = read_notebook(lesson.solution_path)
    references, stubs = answer_cells(solution), answer_cells(release)
    found = {
        name: Material(lesson.exercises[name], stub, references[name], _uses(release, name))
        for name, stub in stubs.items()
        if name in lesson.exercises
    }
    given = _given_names(release)
    for name, material in found.items():
        for answer in material.exercise.accepted_alternatives:
            if cell := cell_of(answer, name, given):
                material.right.append(with_docstring(cell, name, material.stub))
        for mistake in material.exercise.mistakes:
            if cell := cell_of(mistake.answer, name, given):
                material.mistakes[mistake.name] = with_docstring(cell, name, material.stub)
    for name, material in found.items():
        if not _names_in(material.reference) & (found.keys() - {name}):
            material.right.append(material.reference)
    return found


def with_docstring(cell: str, name: str, stub: str) -> str:
    """The answer with the docstring that its author found in the stub and had no reason to delete."""
    docstring = _body_of(stub, name)[0]
    first = _body_of(cell, name)[0]
    is_docstring = isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    lines = cell.splitlines()
    starts = min([first.lineno, *(node.lineno for node in getattr(first, "decorator_list", []))]) - 1
    shares_a_line = lines[first.lineno - 1][: first.col_offset].strip() != ""
    if not is_docstring or shares_a_line:
        return cell
    given = stub.splitlines()[docstring.lineno - 1 : docstring.end_lineno]
    return "\n".join([*lines[:starts], *given, *lines[starts:]])


def _body_of(cell: str, name: str) -> list[ast.stmt]:
    for statement in ast.parse(cell).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.name == name:
            return statement.body
    raise ValueError(f"the cell defines no {name}")


def answer_cells(notebook: NotebookNode) -> dict[str, str]:
    """The code cells that students write, by their id for nbgrader."""
    return {
        cell.metadata.nbgrader["grade_id"]: cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }


def _uses(release: NotebookNode, name: str) -> int:
    return sum(cell.cell_type == "code" and f"{name}(" in cell.source for cell in release.cells)


def _given_names(release: NotebookNode) -> frozenset[str]:
    """What the set-up cell imports."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for cell in release.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade_id") == "setup"
        for statement in ast.parse(cell.source).body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    )


def _names_in(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
