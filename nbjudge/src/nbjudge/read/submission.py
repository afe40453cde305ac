"""Reading what a student handed in, whatever state the file is in.

Only three things of a submitted cell matter: its type, its text and which released cell it
is. Everything else (outputs, tags, widget state, metadata) is dropped on reading, so nothing
in it can break the grader or mean anything to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from nbjudge.plain_text import plain_line, shown_name
from nbjudge.read.notebook_file import OutOfReach, Unreadable, read_notebook_file

NEWEST_FORMAT = 4
MOST_CELLS = 5_000
MOST_TEXT = 2_000_000  # characters in all cells; a lesson that is solved has 50,000
MOST_CANDIDATES = 20  # files of other names that are looked into
ALL_CANDIDATES = 128 * 2**20  # bytes
QUOTED = re.compile(r"(\"{3}|'{3}).*?\1", re.DOTALL)
DEFINED = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class SubmittedCell:
    cell_type: str
    source: str
    grade_id: str | None = None
    cell_id: str | None = None


@dataclass(frozen=True)
class Submission:
    """A read submission: its cells, or the one sentence that says why there are none."""

    cells: tuple[SubmittedCell, ...] = ()
    reason: str = ""  # why it cannot be graded
    note: str = ""  # what was put right on the way
    answered: frozenset[str] = field(default_factory=frozenset)


def read_submission(path: Path, answer_ids: Collection[str], others: Collection[str] = ()) -> Submission:
    """Read the notebook at `path`, or the misnamed one beside it that answers the same lesson.

    `others` are the names of the assignment's notebooks: a file of that name is no misnamed one,
    for notebooks of one course often share the ids of their cells. Raises OutOfReach.
    """
    try:
        return _find(path, answer_ids, others)
    except OSError as error:
        raise OutOfReach(f"{error.strerror}") from error


def _find(path: Path, answer_ids: Collection[str], others: Collection[str]) -> Submission:
    asked = _read_file(path, answer_ids) if os.path.lexists(path) else None
    if asked is not None and not asked.reason:
        return asked
    misnamed = [
        (found, candidate)
        for candidate in _candidates(path.parent, {path.name, *others})
        if (found := _read_file(candidate, answer_ids)).answered
    ]
    if misnamed:
        best, file = max(misnamed, key=lambda pair: (len(pair[0].answered), _moment(pair[1])))
        note = (
            f"The notebook was handed in as {shown_name(file.name)}; "
            f"it was graded as {shown_name(path.name)}."
        )
        return Submission(best.cells, note=note, answered=best.answered)
    return asked if asked is not None else Submission(reason=_missing_reason(path))


def _candidates(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """The notebooks beside it that may be misnamed ones, as many as can be looked into."""
    if not folder.is_dir():
        return
    size = 0
    others = (name for name in sorted(os.listdir(folder)) if name.endswith(".ipynb") and name not in names)
    for name, _ in zip(others, range(MOST_CANDIDATES), strict=False):
        size += (folder / name).lstat().st_size
        if size <= ALL_CANDIDATES:
            yield folder / name


def _moment(file: Path) -> float:
    try:
        return file.lstat().st_mtime
    except OSError:  # it was there a moment ago
        return 0.0


def _missing_reason(path: Path) -> str:
    missing = f"No notebook {shown_name(path.name)} was handed in"
    folder = path.parent
    if folder.is_dir():
        beside = sorted(os.listdir(folder))
        held = f"it holds {', '.join(map(shown_name, beside[:3]))}" if beside else "it is empty"
        more = f" and {len(beside) - 3} more" if len(beside) > 3 else ""
        return f"{missing} ({held}{more})."
    if os.path.lexists(folder):
        return f"{missing}: in the place of the folder {shown_name(folder.name)} lies something else."
    return f"{missing} (it is empty)."


def _read_file(path: Path, answer_ids: Collection[str]) -> Submission:
    try:
        cells = _cells(read_notebook_file(path))
    except Unreadable as error:
        return Submission(reason=f"The file {shown_name(path.name)} {error}.")
    known = frozenset(cell.grade_id or cell.cell_id or "" for cell in cells) & frozenset(answer_ids)
    if answer_ids and not known and not _defines_any(cells, answer_ids):
        return Submission(
            reason=f"The file {shown_name(path.name)} holds none of this lesson's answer cells: "
            "it is another notebook under this name."
        )
    return Submission(cells, answered=known)


def _cells(content: dict[str, Any]) -> tuple[SubmittedCell, ...]:
    version = content.get("nbformat", NEWEST_FORMAT)
    if isinstance(version, (int, float)) and version > NEWEST_FORMAT:
        raise Unreadable(
            f"is in notebook format {plain_line(repr(version), 20)}, newer than this grader reads "
            f"({NEWEST_FORMAT}): save it with a current JupyterLab"
        )
    if "cells" not in content and "worksheets" in content:
        content = _converted(content)
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise Unreadable("is not a notebook: it holds no cells")
    _refuse_too_many(len(cells))
    read = tuple(_cell(cell) for cell in cells if isinstance(cell, dict))
    if sum(len(cell.source) for cell in read) > MOST_TEXT:
        raise Unreadable(
            f"holds more than {MOST_TEXT:,} characters in its cells: put data into a file beside it"
        )
    return read


def _converted(content: dict[str, Any]) -> dict[str, Any]:
    """A notebook from before 2015 in today's form."""
    sheets = content["worksheets"] if isinstance(content["worksheets"], list) else []
    _refuse_too_many(sum(len(each) for sheet in sheets for each in _lists(sheet)))
    try:
        converted: dict[str, Any] = nbformat.convert(nbformat.from_dict(content), NEWEST_FORMAT)
    except Exception as error:
        said = plain_line(f"{type(error).__name__}: {error}")
        raise Unreadable(f"is in an old notebook format that cannot be converted ({said})") from error
    return converted


def _lists(value: Any) -> Iterator[list[Any]]:
    """The lists in a mapping: of a sheet, its cells."""
    yield from (
        each for each in (value.values() if isinstance(value, dict) else ()) if isinstance(each, list)
    )


def _refuse_too_many(cells: int) -> None:
    if cells > MOST_CELLS:
        raise Unreadable(f"holds {cells:,} cells, more than the {MOST_CELLS:,} that are read")


def _cell(cell: dict[str, Any]) -> SubmittedCell:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    # What cannot be encoded (half of a surrogate pair) could not be written back.
    source = source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
    kind = cell.get("cell_type")
    return SubmittedCell(
        kind if kind in ("code", "markdown", "raw") else "raw",
        source.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff"),
        grade_id if isinstance(grade_id, str) else None,
        cell.get("id") if isinstance(cell.get("id"), str) else None,
    )


def _defines_any(cells: Collection[SubmittedCell], names: Collection[str]) -> bool:
    return any(
        f"def {name}(" in cell.source or f"class {name}(" in cell.source for cell in cells for name in names
    )


def defined_names(source: str) -> set[str]:
    """The functions and classes that a cell's code defines, as far as its lines show.

    Python's own parser is not for the grader's process: a line of a hundred thousand dots takes it
    gigabytes.
    """
    return set(DEFINED.findall(QUOTED.sub("", source)))
