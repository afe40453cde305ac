"""Whether a given cell fails for everybody: then it is the lesson's fault, and no student's.

A package that the sandbox does not show, a file that is missing: what the lesson's own solution cannot run
either is said to the instructor, and nobody gets 0 for it.
"""

from __future__ import annotations

import copy
from pathlib import Path
from tempfile import TemporaryDirectory

from nbformat import NotebookNode
from nbgrader.utils import is_grade

from nbjudge.cell_metadata import Origin, is_left_out, is_written_by_student, origin_of
from nbjudge.course.course import Lesson
from nbjudge.course.notebooks import read_notebook
from nbjudge.errors import GradingStops
from nbjudge.plain_text import plain_line
from nbjudge.read.files import copy_plain_files
from nbjudge.run.kernel import student_kernel
from nbjudge.run.kernel_process import KernelEnvironment
from nbjudge.sandbox.forked_kernel import SandboxError

MAY_FAIL = "raises-exception"  # Jupyter's tag for a cell that shows an error on purpose
FAILS = (
    "The lesson “{lesson}” cannot be graded: its own cell “{cell}” stops with {error} in grading, with the "
    "solution's answers, too. Mend the cell, or show the sandbox what it needs (`c.RunAndJudge.modules` for "
    "packages, `c.RunAndJudge.helpers` for modules of the course's own, files beside the notebook)."
)
# By lesson and environment: the given cells that fail with the solution's answers, by their positions in the
# source notebook (older notebooks have no ids, and a text may occur twice), and their errors.
_known: dict[tuple[Path, int, KernelEnvironment], dict[int, str]] = {}


class LessonFails(GradingStops):
    """A given cell stops for everybody: no submission of this lesson can be graded."""


def refuse_own_faults(graded: NotebookNode, lesson: Lesson, environment: KernelEnvironment) -> None:
    """Raises LessonFails where a given cell has stopped, and stops with the lesson's own solution as well."""
    stopped = {
        place: cell for place, cell in enumerate(_of_the_lesson(graded)) if _is_given(cell) and _error(cell)
    }
    if not stopped:
        return
    key = (lesson.source_path, lesson.source_path.stat().st_mtime_ns, environment)
    if key not in _known:
        try:
            _known[key] = _failing_with_the_solution(graded, lesson, environment)
        except SandboxError:
            return  # no kernel for the solution says nothing of the lesson, and costs this student nothing
    for place, cell in stopped.items():
        if place in _known[key]:
            error = _known[key][place]
            raise LessonFails(FAILS.format(lesson=lesson.name, cell=_name(cell), error=error))


def _failing_with_the_solution(
    graded: NotebookNode, lesson: Lesson, environment: KernelEnvironment
) -> dict[int, str]:
    solution = {_name(cell): cell.source for cell in read_notebook(lesson.source_path).cells}
    failing: dict[int, str] = {}
    with TemporaryDirectory(prefix="nbjudge-") as folder:
        copy_plain_files(lesson.source_path.parent, Path(folder))
        with student_kernel(Path(folder), environment) as kernel:
            for place, cell in enumerate(copy.deepcopy(_of_the_lesson(graded))):
                if cell.cell_type != "code" or is_left_out(cell):
                    continue
                if is_written_by_student(cell):
                    cell.source = solution.get(_name(cell), cell.source)
                cell.outputs = []
                if kernel.run_cell(cell) != "done":
                    break  # what is too slow, or dies, says nothing of the cells behind it
                if _is_given(cell) and (error := _error(cell)):
                    failing[place] = error
    return failing


def _of_the_lesson(graded: NotebookNode) -> list[NotebookNode]:
    """The cells of the source notebook in its order: the same in every submission."""
    return [cell for cell in graded.cells if origin_of(cell) is Origin.COURSE]


def _name(cell: NotebookNode) -> str:
    """What an author knows a cell by: nbgrader's id or, without one, Jupyter's, or its first line."""
    grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    first_line = cell.source.strip().partition("\n")[0]
    return str(grade_id or cell.get("id") or first_line)


def _is_given(cell: NotebookNode) -> bool:
    """Code of the lesson's own that is to run without an error whatever students answer."""
    return (
        cell.cell_type == "code"
        and not is_grade(cell)
        and not is_written_by_student(cell)
        and MAY_FAIL not in cell.metadata.get("tags", [])
    )


def _error(cell: NotebookNode) -> str:
    """The error that a cell has stopped with, in a line; empty where it has not."""
    for output in cell.outputs:
        if output.output_type == "error":
            return plain_line(f"{output.ename}: {output.evalue}".rstrip(": "))
    return ""
