"""Cells with nbgrader's metadata, for notebooks that tests make by hand."""

from typing import Any

import nbformat
from nbformat import NotebookNode


def marked(cell: NotebookNode, grade_id: str, **marks: Any) -> NotebookNode:
    """The cell with nbgrader's metadata."""
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    cell.metadata["nbgrader"] = plain | {"grade_id": grade_id} | marks
    return cell


def code(source: str, grade_id: str = "", **marks: Any) -> NotebookNode:
    """A code cell, with nbgrader's metadata if it has an id for nbgrader."""
    cell = nbformat.v4.new_code_cell(source)
    return marked(cell, grade_id, **marks) if grade_id else cell


def solution(body: str) -> str:
    return f"    ### BEGIN SOLUTION\n    {body}\n    ### END SOLUTION"


def cell_of(notebook: NotebookNode, cell_id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == cell_id)
