"""Read notebooks that the course itself has made, and the code of their cells as Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbjudge.cell_metadata import LEFT_OUT_TAG
from nbjudge.errors import CourseError
from nbjudge.parsing import parsed
from nbjudge.plain_text import plain_line

if TYPE_CHECKING:
    from nbformat import NotebookNode

LONGEST_LABEL = 60  # characters
# Cell magics whose body is Python that defines names like any other cell.
TRANSPARENT = ("time", "capture", "prun", "debug")
_CELL_MAGIC = re.compile(r"\A\s*%%(\w*)[^\n]*\n?")
_TIMED_LINE = re.compile(r"^([ \t]*)%time[ \t]+", re.MULTILINE)


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


def as_python(source: str) -> str:
    """The code of a cell without IPython's own syntax.

    Parameters
    ----------
    source : str
        A code cell. `%matplotlib inline`, `!ls` and `help?` become calls of `get_ipython()`, which
        `kernel_names` provides and which do nothing. A cell of another language (`%%bash`) becomes empty.

    Returns
    -------
    str
        Python, or what is no Python either way: its parser says where.
    """
    try:
        parsed(source)
        return source
    except SyntaxError:
        pass
    magic = _CELL_MAGIC.match(source)
    if magic is not None:
        # The empty line keeps the numbers of the others.
        source = "\n" + source[magic.end() :] if magic.group(1) in TRANSPARENT else ""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return TransformerManager().transform_cell(_TIMED_LINE.sub(r"\1", source))
    except SyntaxError:
        return source


def kernel_names() -> dict[str, Any]:
    """What cells find defined in a kernel without defining it: here, it shows and does nothing."""
    return {"get_ipython": lambda: _NoShell(), "display": lambda *values, **options: None}


class _NoShell:
    """A shell whose magics do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import\b", re.MULTILINE)
# What is imported only at first use, and slowly.
_COMES_LATER = {
    "torch": "torch.fx.experimental.symbolic_shapes",  # by the first backward pass, with all of sympy
    "torch.optim": "torch._dynamo",
    "matplotlib": "matplotlib.backends.backend_agg",
}


def imported_modules(code: str) -> set[str]:
    """The modules named by import statements, indented ones included; magics and errors don't matter."""
    found = set(_FROM.findall(code)) - {"__future__"}
    for names in _IMPORT.findall(code):
        found |= {name.split()[0] for name in names.split(",") if name.strip()}
    return found | {later for word, later in _COMES_LATER.items() if word in code}
