"""Six students for any nbgrader assignment, made from the released notebook and the instructor's source.

Each is a function of the released and the source notebook that returns the notebook a student hands in.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import nbformat
from nbformat import NotebookNode

Student = Callable[[NotebookNode, NotebookNode], NotebookNode]

MARKERS = ("BEGIN SOLUTION", "END SOLUTION")  # nbgrader's ClearSolutions
SYNTAX_ERROR = "def not_finished(:\n    return"
WARNINGS = (
    "import sys, warnings\n"
    "warnings.warn('a warning from the student')\n"
    "print('debug output', file=sys.stderr)\n"
    "print('more debug output')"
)
FAILING = "1 / 0"


def is_answer(cell: NotebookNode) -> bool:
    """Whether students write in this cell."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def is_test(cell: NotebookNode) -> bool:
    """Whether this code cell is graded automatically and students do not write in it."""
    marks = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and bool(marks.get("grade")) and not marks.get("solution")


def solution(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """Every answer is the instructor's."""
    return _answered(released, source, step=1)


def untouched(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The released notebook as it is."""
    return deepcopy(released)


def half_done(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """Every second answer is the instructor's, beginning with the first; the others are not written."""
    return _answered(released, source, step=2)


def syntax_error(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The instructor's answers, except that the first code answer does not compile."""
    notebook = solution(released, source)
    answers = [cell for cell in notebook.cells if is_answer(cell) and cell.cell_type == "code"]
    if answers:
        answers[0].source = SYNTAX_ERROR
    return notebook


def deleted_test(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The instructor's answers without the first test cell."""
    notebook = solution(released, source)
    tests = [cell for cell in notebook.cells if is_test(cell)]
    notebook.cells = [cell for cell in notebook.cells if not (tests and cell is tests[0])]
    return notebook


def noisy(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The instructor's answers between own cells: warnings and output first, and failing cells later."""
    notebook = solution(released, source)
    cells = [_own_cell(notebook, WARNINGS)]
    for cell in notebook.cells:
        cells.append(cell)
        if is_answer(cell):
            cells.append(_own_cell(notebook, FAILING))
    notebook.cells = [*cells, _own_cell(notebook, FAILING)]
    return notebook


CLASS: dict[str, Student] = {
    "solution": solution,
    "untouched": untouched,
    "half-done": half_done,
    "syntax-error": syntax_error,
    "deleted-test": deleted_test,
    "noisy": noisy,
}


def _answered(released: NotebookNode, source: NotebookNode, step: int) -> NotebookNode:
    answers = {cell.metadata["nbgrader"]["grade_id"]: cell.source for cell in source.cells if is_answer(cell)}
    notebook = deepcopy(released)
    for cell in [cell for cell in notebook.cells if is_answer(cell)][::step]:
        lines = answers[cell.metadata["nbgrader"]["grade_id"]].split("\n")
        cell.source = "\n".join(line for line in lines if not any(marker in line for marker in MARKERS))
    return notebook


def _own_cell(notebook: NotebookNode, code: str) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(code)
    if notebook.nbformat_minor < 5:  # the format has no cell ids yet
        del cell["id"]
    return cell
