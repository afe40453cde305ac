"""Cells of an assignment's own that fail: whether its solution has all points in spite of them.

A demonstration that calls `input()` costs nothing. A package that the sandbox lacks may cost every student
the points of a test: the instructor learns of it first, and no student gets 0 for it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbformat import NotebookNode

from nbjudge.cell_metadata import is_written_by_student, nbgrader_metadata
from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_notebook
from nbjudge.errors import BrokenAssignmentError, SandboxError
from nbjudge.grading.grade import cell_name, cells_of_assignment, failed_given_cells, grade
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.plain_text import first_few
from nbjudge.record.graded_cell import Status, read_cell_status
from nbjudge.submission.files import copy_plain_files

ALL_POINTS = "The notebook “{notebook}”: the assignment's own cell {failures}; its tests pass all the same."
POINTS_LOST = (
    "The notebook “{notebook}”: the assignment's own cell {failures}. The solution loses points in {tests}, "
    "too; graded all the same, as c.RunAndJudge.grade_despite_failing_cells says."
)
REFUSED = (
    "The notebook “{notebook}” cannot be graded: its own cell {failures}, and with the solution's answers "
    "points are lost in {tests}, too. Fix the cell, or give the sandbox, which has no network, what it lacks "
    "(`c.RunAndJudge.modules` for packages, `c.RunAndJudge.exposed_modules` for modules of the course's own, "
    "files beside the notebook); to grade all the same, set "
    "`c.RunAndJudge.grade_despite_failing_cells = True`."
)


@dataclass(frozen=True)
class SolutionRun:
    """What came of grading an assignment's own solution.

    Cells are named by their positions in the source notebook: older notebooks have no ids, and a text may
    occur twice.
    """

    failures: dict[int, str]  # the given cells that fail, and a sentence about each
    lost: tuple[str, ...]  # the automatically graded cells that do not have their full points


_known: dict[tuple[Path, int, KernelEnvironment], SolutionRun] = {}


def warn_of_broken_assignment(
    graded: NotebookNode,
    failed: Collection[int],
    assignment: Assignment,
    seed: int,
    environment: KernelEnvironment,
    despite: bool,
    files: Mapping[str, bytes],
) -> str:
    """Look into the failing cells of a graded notebook that are the assignment's own.

    Parameters
    ----------
    graded
        A student's notebook after it was graded.
    failed
        The positions of its given cells that fail, see `failed_given_cells`.
    assignment
        The notebook that it was made from. Its solution is graded once for each environment.
    seed
        What the inputs are drawn from if the solution is graded now.
    environment
        Where the kernels run.
    despite
        Whether to grade although the solution loses points.
    files
        What was beside the notebook. The assignment's other notebooks among them get the solution's answers.

    Returns
    -------
    str
        A warning that is the same for the whole class; empty if no given cell fails with the solution.

    Raises
    ------
    BrokenAssignmentError
        If such a cell fails, and an automatically graded cell does not give the solution its full points.
    """
    key = (assignment.source_path, assignment.source_path.stat().st_mtime_ns, environment)
    if key not in _known:
        try:
            _known[key] = _grade_solution(graded, assignment, seed, environment, files)
        except SandboxError:
            return ""  # a missing kernel says nothing about the assignment and costs no student a point
    run = _known[key]
    if run.failures.keys().isdisjoint(failed):
        return ""
    about = {
        "notebook": assignment.name,
        "failures": first_few(list(run.failures.values()), "; cell "),
        "tests": first_few([f"“{name}”" for name in run.lost]),
    }
    if not run.lost:
        return ALL_POINTS.format_map(about)
    if despite:
        return POINTS_LOST.format_map(about)
    raise BrokenAssignmentError(REFUSED.format_map(about))


def _grade_solution(
    graded: NotebookNode,
    assignment: Assignment,
    seed: int,
    environment: KernelEnvironment,
    files: Mapping[str, bytes],
) -> SolutionRun:
    solution = _solved(graded, assignment)
    with TemporaryDirectory(prefix="nbjudge-") as folder:
        copy_plain_files(assignment.source_path.parent, Path(folder))
        for other in assignment.course.assignments_in(assignment.folder):
            if (content := files.get(other.source_path.name)) is not None:
                solved = _solved(nbformat.reads(content.decode(), as_version=4), other)
                nbformat.write(solved, Path(folder, other.source_path.name))
        grade(solution, assignment, Path(folder), seed, environment)
    # What is too slow, or dies, says nothing of the cells behind it.
    ran = takewhile(lambda cell: read_cell_status(cell) is Status.COMPLETED, solution.cells)
    failures = failed_given_cells(ran)
    return SolutionRun(failures, tuple(cell_name(cell) for cell in solution.cells if _loses_points(cell)))


def _solved(merged: NotebookNode, assignment: Assignment) -> NotebookNode:
    """The assignment's own cells of a merged notebook, with the answers of the solution and no outputs."""
    answers = {cell_name(cell): cell.source for cell in read_notebook(assignment.source_path).cells}
    solution = copy.deepcopy(merged)
    solution.cells = cells_of_assignment(solution)
    for cell in solution.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            if is_written_by_student(cell):
                cell.source = answers.get(cell_name(cell), cell.source)
    return solution


def _loses_points(cell: NotebookNode) -> bool:
    """Whether an automatically graded cell has less than its full points, as nbgrader reads its outputs."""
    settings = nbgrader_metadata(cell)
    if cell.cell_type != "code" or not settings.get("grade") or settings.get("solution"):
        return False
    from nbgrader.utils import determine_grade  # its package takes seconds to import

    points, max_points = determine_grade(cell)
    return bool(points < max_points)
