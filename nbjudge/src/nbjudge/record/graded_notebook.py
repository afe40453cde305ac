"""A graded notebook: its record, its cells with what became of each, and the verdicts in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from nbjudge.cell_metadata import is_added, nbgrader_metadata, own_metadata, update_own_metadata
from nbjudge.judge.verdict import Verdict
from nbjudge.record import version_1
from nbjudge.record.graded_cell import read_cell_status, read_exercise
from nbjudge.record.schema import ExerciseRecord, NotebookRecord
from nbjudge.record.status import Status


@dataclass(frozen=True)
class CellError:
    """An error among the outputs of a cell, in whoever's words."""

    name: str
    message: str


@dataclass(frozen=True)
class GradedCell:
    """What a graded notebook says of one of its cells."""

    cell_id: str
    grade_id: str = ""  # nbgrader's; empty where the cell has none
    is_graded: bool = False  # nbgrader counts its points
    is_answer: bool = False
    is_added: bool = False  # by the student
    status: Status = Status.COMPLETED
    errors: tuple[CellError, ...] = ()
    exercise: ExerciseRecord | None = None


@dataclass(frozen=True)
class GradedNotebook:
    """What grading left in a notebook of `autograded/`."""

    record: NotebookRecord = NotebookRecord()
    cells: tuple[GradedCell, ...] = ()

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """By exercise."""
        records = [cell.exercise for cell in self.cells if cell.exercise is not None]
        return {record.verdict.exercise: record.verdict for record in records}

    @property
    def cell_ids(self) -> dict[str, str]:
        """The id of the graded cell, by exercise."""
        return {
            cell.exercise.verdict.exercise: cell.cell_id for cell in self.cells if cell.exercise is not None
        }

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Points and the most there are, by exercise."""
        return {name: (verdict.points, verdict.max_points) for name, verdict in self.verdicts.items()}


def read_graded(path: Path) -> GradedNotebook:
    """Read a notebook of `autograded/`, whoever wrote it. Raises OSError or ValueError where it is none."""
    try:
        content = json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(f"{path} is no notebook: it is nested too deeply") from error
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise ValueError(f"{path} is no notebook: it holds no cells")
    record = read_record(content)
    cells = (cell for cell in content["cells"] if isinstance(cell, dict))
    return GradedNotebook(record, tuple(_cell(cell, record.version) for cell in cells))


def read_record(notebook: Mapping[str, Any]) -> NotebookRecord:
    """What grading says of a whole notebook, which somebody has read already."""
    return NotebookRecord.from_data(own_metadata(notebook))


def write_record(notebook: NotebookNode, record: NotebookRecord) -> None:
    """Write that into the notebook's metadata."""
    update_own_metadata(notebook, **record.as_data())


def _cell(cell: dict[str, Any], version: int) -> GradedCell:
    marks, outputs = nbgrader_metadata(cell), cell.get("outputs")
    errors = tuple(
        CellError(str(output.get("ename") or ""), str(output.get("evalue") or ""))
        for output in (outputs if isinstance(outputs, list) else [])
        if isinstance(output, dict) and output.get("output_type") == "error"
    )
    status = read_cell_status(cell) if version > 1 else version_1.cell_status(error.name for error in errors)
    return GradedCell(
        cell_id=str(cell.get("id") or ""),
        grade_id=str(marks.get("grade_id") or ""),
        is_graded=bool(marks.get("grade")),
        is_answer=bool(marks.get("solution")),
        is_added=is_added(cell),
        status=status,
        errors=errors,
        exercise=read_exercise(cell),
    )
