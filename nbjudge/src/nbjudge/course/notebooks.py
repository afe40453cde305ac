"""Reading notebooks that the course itself has made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbjudge.cell_metadata import LEFT_OUT_TAG
from nbjudge.errors import CourseError
from nbjudge.plain_text import plain_line

if TYPE_CHECKING:
    from nbformat import NotebookNode

LONGEST_LABEL = 60  # characters


@dataclass(frozen=True)
class PlainCell:
    """A cell of a notebook, read without the library for notebooks, which takes seconds to load."""

    cell_type: str
    source: str
    marks: Mapping[str, Any]  # nbgrader's
    is_left_out: bool = False  # of grading

    @property
    def name(self) -> str:
        """Its id for nbgrader; empty where it has none."""
        return str(self.marks.get("grade_id", ""))

    @property
    def label(self) -> str:
        """What its author finds it by: nbgrader's id, or else its first line."""
        return cell_label(self.name, self.source)


def cell_label(grade_id: str, source: str) -> str:
    """What its author finds a cell by: nbgrader's id, or else its first line."""
    return grade_id or plain_line(source.strip().partition("\n")[0], LONGEST_LABEL)


def read_plain_cells(path: Path) -> list[PlainCell]:
    """The cells of a notebook of the course's own.

    Parameters
    ----------
    path : Path
        The notebook, in any format that nbformat can read.

    Returns
    -------
    list of PlainCell
        Text and code cells in their order.

    Raises
    ------
    CourseError
        If the file cannot be read as a notebook.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = notebook["cells"] if notebook["nbformat"] == 4 else None
    except (OSError, ValueError, KeyError, TypeError):
        cells = None
    if cells is None:  # an older format, or no notebook at all, which nbformat says best
        cells = read_notebook(path).cells
    try:
        return [_plain_cell(cell) for cell in cells]
    except (KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path} cannot be read as a notebook ({error!r}): restore it.") from error


def _plain_cell(cell: Mapping[str, Any]) -> PlainCell:
    metadata = cell.get("metadata", {})
    return PlainCell(
        cell["cell_type"],
        "".join(cell["source"]),
        metadata.get("nbgrader", {}),
        LEFT_OUT_TAG in metadata.get("tags", []),
    )


def read_notebook(path: Path) -> NotebookNode:
    """A notebook of the course's own; CourseError if it is none."""
    import nbformat  # takes two seconds, which the tutor can do without

    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CourseError(
            f"{path} cannot be read as a notebook ({reason[:200]}): fix it or restore it."
        ) from error
    return notebook
