"""Graded notebooks: read and write their records, find unfinished ones and changed submissions."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbjudge.cell_metadata import (
    is_added,
    nbgrader_metadata,
    own_metadata,
    recorded_answer,
    update_own_metadata,
)
from nbjudge.judge.verdict import Verdict
from nbjudge.record import graded_cell
from nbjudge.submission.files import Folder, read_handed_in

if TYPE_CHECKING:
    from nbformat import NotebookNode

TAIL = 2**14  # bytes at the end of a file in which the notebook's metadata are expected
BEHIND_THE_CELLS = b'\n "metadata": {'  # the metadata of cells are indented further


@dataclass(frozen=True)
class NotebookRecord:
    """The result of grading a whole notebook.

    Attributes
    ----------
    status
        What happened to the notebook.
    reason
        Why no cell could be run; empty otherwise.
    note
        What was unusual about the submission, for the student.
    seconds
        How long grading took; None if it was not measured.
    digest
        The digest of the submission that was graded.
    material
        The digests of what the author had written when it was graded, by path; empty if none were recorded.
    """

    status: graded_cell.Status = graded_cell.Status.COMPLETED
    reason: str = ""
    note: str = ""
    seconds: float | None = None
    digest: str = ""
    material: Mapping[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """The record as JSON data for the metadata of the notebook."""
        return asdict(self) | {"status": self.status.value}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> NotebookRecord:
        """Read a record; entries that cannot be read get their defaults."""
        return cls(
            graded_cell.read_status(data.get("status")) or graded_cell.Status.COMPLETED,
            str(data.get("reason") or ""),
            str(data.get("note") or ""),
            _read_seconds(data.get("seconds")),
            str(data.get("digest") or ""),
            _read_digests(data.get("material")),
        )


@dataclass(frozen=True)
class CellError:
    """An error among the outputs of a cell."""

    name: str
    message: str


@dataclass(frozen=True)
class GradedCell:
    """One cell of a graded notebook."""

    cell_id: str
    grade_id: str = ""  # nbgrader's; empty where the cell has none
    is_graded: bool = False  # nbgrader counts its points
    is_answer: bool = False
    is_added: bool = False  # by the student
    status: graded_cell.Status = graded_cell.Status.COMPLETED
    errors: tuple[CellError, ...] = ()
    exercise: graded_cell.ExerciseRecord | None = None
    answer: str = ""  # the digest that equal answers share


@dataclass(frozen=True)
class GradedNotebook:
    """A notebook in `autograded/`: its record and its cells."""

    record: NotebookRecord = NotebookRecord()
    cells: tuple[GradedCell, ...] = ()

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by exercise."""
        records = [cell.exercise for cell in self.cells if cell.exercise is not None]
        return {record.verdict.exercise: record.verdict for record in records}

    @property
    def cell_ids(self) -> dict[str, str]:
        """The ids of the graded cells by exercise."""
        return {
            cell.exercise.verdict.exercise: cell.cell_id for cell in self.cells if cell.exercise is not None
        }


def read_graded(path: Path) -> GradedNotebook:
    """Read a notebook in `autograded/`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not a notebook.
    """
    try:
        content = json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError(f"{path} is not a notebook: it is nested too deeply") from error
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise ValueError(f"{path} is not a notebook: it has no cells")
    cells = (cell for cell in content["cells"] if isinstance(cell, dict))
    return GradedNotebook(read_record(content), tuple(_cell(cell) for cell in cells))


def read_record(notebook: Mapping[str, Any]) -> NotebookRecord:
    """Read the record of a whole notebook."""
    return NotebookRecord.from_data(own_metadata(notebook))


def write_record(notebook: NotebookNode, record: NotebookRecord) -> None:
    """Write the record into the notebook's metadata."""
    update_own_metadata(notebook, **record.as_data())


def remove_unfinished(folder: Path, names: Collection[str], whole: bool) -> bool:
    """Remove graded notebooks of a submission whose grading did not end; nbgrader takes them for graded.

    Parameters
    ----------
    folder
        The student's folder in `autograded/`.
    names
        The notebooks to be graded, without ".ipynb".
    whole
        Whether these are all notebooks of the folder, so that the whole folder is removed.

    Returns
    -------
    bool
        Whether something was removed.
    """
    unfinished = [name for name in names if not is_finished(folder / f"{name}.ipynb")]
    if not unfinished or not folder.is_dir():
        return False
    if whole:
        shutil.rmtree(folder)
    else:
        for name in unfinished:
            (folder / f"{name}.ipynb").unlink(missing_ok=True)
    return True


def is_finished(notebook: Path) -> bool:
    """Return whether a graded notebook was written completely, after its grades had entered the gradebook."""
    record = _read_record_only(notebook)
    return record is not None and record.status is not graded_cell.Status.UNFINISHED


def changed_material(graded: Path, material: Mapping[str, Mapping[str, str]]) -> set[str]:
    """The paths of what the author changed, added or removed since a submission was graded.

    Parameters
    ----------
    graded
        The folder of its graded notebooks.
    material
        The digests of what is there now (`Assignment.material`), by the names of the assignment's notebooks.
    """
    changed = set[str]()
    for name, digests in material.items():
        record = _read_record_only(graded / f"{name}.ipynb")
        if record is not None and record.material:  # neither of an earlier version nor of another grader
            changed |= {path for path, _ in record.material.items() ^ digests.items()}
    return changed


def is_same_content(submitted: Folder, graded: Path, notebooks: Collection[str]) -> bool | None:
    """Compare a submission with the digest recorded when it was graded; timestamps do not count.

    Parameters
    ----------
    submitted
        The submission's folder.
    graded
        The folder of its graded notebooks.
    notebooks
        The file names of the assignment's notebooks.

    Returns
    -------
    bool or None
        None if a graded notebook has no digest because another grader graded it.

    Raises
    ------
    OSError
        If the submission cannot be read.
    """
    records = (_read_record_only(graded / name) for name in notebooks)
    recorded = {"" if record is None else record.digest for record in records}
    if "" in recorded:
        return None
    return recorded == {read_handed_in(submitted, notebooks).digest}


def _cell(cell: dict[str, Any]) -> GradedCell:
    marks, outputs = nbgrader_metadata(cell), cell.get("outputs")
    errors = tuple(
        CellError(str(output.get("ename") or ""), str(output.get("evalue") or ""))
        for output in (outputs if isinstance(outputs, list) else [])
        if isinstance(output, dict) and output.get("output_type") == "error"
    )
    return GradedCell(
        cell_id=str(cell.get("id") or ""),
        grade_id=str(marks.get("grade_id") or ""),
        is_graded=bool(marks.get("grade")),
        is_answer=bool(marks.get("solution")),
        is_added=is_added(cell),
        status=graded_cell.read_cell_status(cell),
        errors=errors,
        exercise=graded_cell.read_exercise(cell),
        answer=recorded_answer(cell),
    )


def _read_seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < math.inf else None


def _read_digests(value: Any) -> dict[str, str]:
    return {name: str(digest) for name, digest in value.items()} if isinstance(value, dict) else {}


def _read_record_only(notebook: Path) -> NotebookRecord | None:
    """The record of a graded notebook; None if the file is incomplete."""
    try:
        # The notebook's metadata follow its cells. Reading all cells of a class takes seconds.
        with notebook.open("rb") as file:
            file.seek(-min(TAIL, os.fstat(file.fileno()).st_size), os.SEEK_END)
            _, found, behind = file.read().rpartition(BEHIND_THE_CELLS)
        content = json.loads(b"{" + found + behind if found else notebook.read_bytes())
        is_notebook = isinstance(content, dict) and "metadata" in content
        return NotebookRecord.from_data(own_metadata(content)) if is_notebook else None
    except (OSError, ValueError, RecursionError):
        return None
