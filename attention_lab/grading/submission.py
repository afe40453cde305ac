"""Reading what a student handed in, whatever state the file is in.

Only three things of a submitted cell matter: its type, its text and which released cell it
is. Everything else (outputs, tags, widget state, metadata) is dropped on reading, so nothing
in it can break the grader or mean anything to it.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from attention_lab.grading.files import read_plain_file

LARGEST_FILE = 20 * 2**20  # bytes; an honest notebook with figures stays far below
NEWEST_FORMAT = 4


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
    for notebooks of one course often share the ids of their cells.
    """
    asked = _read_file(path, answer_ids) if os.path.lexists(path) else None
    if asked is not None and not asked.reason:
        return asked
    misnamed = [
        (found, candidate)
        for candidate in sorted(path.parent.glob("*.ipynb"))
        if candidate.name not in {path.name, *others}
        and (found := _read_file(candidate, answer_ids)).answered
    ]
    if misnamed:
        best, file = max(misnamed, key=lambda pair: (len(pair[0].answered), pair[1].lstat().st_mtime))
        note = f"The notebook was handed in as {file.name!r}; it was graded as {path.name!r}."
        return Submission(best.cells, note=note, answered=best.answered)
    if asked is not None:
        return asked
    beside = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    held = f"it holds {', '.join(map(repr, beside[:5]))}" if beside else "it is empty"
    return Submission(reason=f"No notebook {path.name!r} was handed in ({held}).")


def _read_file(path: Path, answer_ids: Collection[str]) -> Submission:
    try:
        cells = _cells(_parse(path))
    except _Unreadable as error:
        return Submission(reason=f"The file {path.name!r} {error}.")
    known = frozenset(cell.grade_id or cell.cell_id or "" for cell in cells) & frozenset(answer_ids)
    if answer_ids and not known and not _defines_any(cells, answer_ids):
        return Submission(
            reason=f"The file {path.name!r} holds none of this lesson's answer cells: "
            "it is another notebook under this name."
        )
    return Submission(cells, answered=known)


class _Unreadable(Exception):
    """Completes the sentence "The file NAME ..."."""


def _parse(path: Path) -> dict[str, Any]:
    try:
        raw = read_plain_file(path, LARGEST_FILE)
    except OSError as error:
        if error.errno == errno.EFBIG:
            size = LARGEST_FILE // 2**20
            raise _Unreadable(f"is larger than {size} MiB: clear its outputs and try again") from error
        if error.errno == errno.ELOOP:
            raise _Unreadable("is a link, not a file: hand in the notebook itself") from error
        raise _Unreadable(f"cannot be read: {error.strerror}") from error
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        text = raw.decode(encoding).strip("\ufeff \r\n\t")
    except UnicodeDecodeError as error:
        raise _Unreadable("is not a notebook: it is not text") from error
    if not text:
        raise _Unreadable("is empty")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        # An unterminated string is reported where it starts, anything else where the text ends.
        at_the_end = error.msg.startswith("Unterminated") or error.pos >= len(text) - 1
        if text.startswith("{") and at_the_end:
            raise _Unreadable("breaks off in the middle") from error
        raise _Unreadable(f"is not a notebook: {error.msg} in line {error.lineno}") from error
    except ValueError as error:  # a number of thousands of digits
        raise _Unreadable(f"is not a notebook: {error}") from error
    except RecursionError as error:
        raise _Unreadable("is not a notebook: it is nested too deeply") from error
    if not isinstance(content, dict):
        raise _Unreadable("is not a notebook: it holds no cells")
    return content


def _cells(content: dict[str, Any]) -> tuple[SubmittedCell, ...]:
    version = content.get("nbformat", NEWEST_FORMAT)
    if isinstance(version, int) and version > NEWEST_FORMAT:
        raise _Unreadable(
            f"is in notebook format {version}, newer than this grader reads ({NEWEST_FORMAT}): "
            "save it with a current JupyterLab"
        )
    if "cells" not in content and "worksheets" in content:
        try:
            content = nbformat.convert(nbformat.from_dict(content), NEWEST_FORMAT)
        except Exception as error:
            raise _Unreadable(f"is in an old notebook format that cannot be converted ({error})") from error
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise _Unreadable("is not a notebook: it holds no cells")
    return tuple(_cell(cell) for cell in cells if isinstance(cell, dict))


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
