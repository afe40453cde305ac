"""Reading what a student handed in, whatever state the file is in.

Only three things of a submitted cell matter: its type, its text (with the pictures of prose) and which
released cell it is. Everything else (outputs, tags, widget state, metadata) is dropped on reading, so nothing
in it can break the grader or mean anything to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import nbformat
from nbformat import NotebookNode

from nbjudge.cell_metadata import is_released_text
from nbjudge.plain_text import first_few, plain_line, shown_name
from nbjudge.submission.folder import (
    ALL_CANDIDATES,
    SubmissionFolder,
    UnreadableFileError,
    notebook_stem,
    read_notebook_file,
)
from nbjudge.submission.pictures import DATA, Picture, read_pictures

NEWEST_FORMAT = 4
MOST_CELLS = 5_000
MOST_TEXT = 2_000_000  # characters in all cells; an assignment that is solved has 50,000
MOST_PARSED = 4  # notebooks of other names, the newest ones
MOST_FOR_A_NOTE = 4 * 2**20  # bytes of them, if the notebook of the right name is answered
ARCHIVE_ENDINGS = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")
QUOTED = re.compile(r"(\"{3}|'{3}).*?\1", re.DOTALL)
DEFINED = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class SubmittedCell:
    cell_type: str
    source: str
    grade_id: str | None = None
    cell_id: str | None = None
    pictures: Mapping[str, Picture] = field(default_factory=dict)  # of prose, by address


@dataclass(frozen=True)
class Submission:
    """The cells of a submission, or the reason why there are none, in one sentence."""

    cells: tuple[SubmittedCell, ...] = ()
    reason: str = ""  # why it cannot be graded
    note: str = ""  # what was corrected while reading
    found_answers: frozenset[str] = frozenset()  # the answer cells that are there
    changed_answers: frozenset[str] = frozenset()  # those that differ from what was released
    path: str = ""  # of the notebook, in the folder that was handed in


def read_submission(
    handed_in: SubmissionFolder,
    name: str,
    answers: Mapping[str, Mapping[str, Any]],
    contents: Mapping[str, Collection[str]] | None = None,
) -> Submission:
    """Find the notebook that a student worked in, and read it.

    It is the file called `name` if an answer in it differs from the released `answers`. Otherwise it is
    another notebook in the folder, or in a folder in it, in which an answer does. `contents` has the
    `contents_of` all notebooks of the assignment: a file that names one of them is taken for no other,
    because notebooks of one course often share the ids of their cells. A file that names none is the
    notebook that it has most of; where two are equal, the one that is missing. Raises OutOfReachError if
    the grader may not read a notebook.
    """
    if handed_in.obstacle:
        return Submission(reason=f"{_missing(name)}{handed_in.obstacle}.")
    expected = _read_file(handed_in, name, answers) if name in handed_in.notebooks else None
    changed = {entry.path: entry.about.st_mtime for entry in handed_in.entries}
    # The class waits while these are parsed: few, and small ones only if they change nothing but the note.
    contents = contents or {}
    named = {path: _named(path, {name, *contents}) for path in handed_in.notebooks if path != name}
    candidates = sorted(
        (path for path in named if named[path] in (name, None)), key=changed.__getitem__, reverse=True
    )
    limit = MOST_FOR_A_NOTE if expected and expected.changed_answers else ALL_CANDIDATES
    rest = [
        _read_file(handed_in, path, answers)
        for path in _within(handed_in.notebooks, candidates[:MOST_PARSED], limit)
    ]
    found = sorted(
        (
            each
            for each in rest
            if (each.found_answers or each.changed_answers)
            and (named[each.path] == name or _is_likeliest(each.cells, name, contents, handed_in))
        ),
        key=lambda each: (len(each.changed_answers), len(each.found_answers), changed[each.path]),
        reverse=True,
    )
    if not found:
        return expected or Submission(reason=_missing_reason(handed_in, name, rest))
    best, shown = found[0], shown_name(name)
    if expected is None or expected.reason:
        note = f"The notebook was handed in as {shown_name(best.path)}; it was graded as {shown}."
        return replace(best, note=note)
    if best.changed_answers and not expected.changed_answers:
        note = f"{shown} is as it was given out, so {shown_name(best.path)} was graded."
        return replace(best, note=note)
    rivals = [each for each in found if each.changed_answers and each.cells != expected.cells]
    if rivals:
        note = f"{shown} was graded; {shown_name(rivals[0].path)} has answers in it, too."
        return replace(expected, note=note)
    return expected


def _within(notebooks: Mapping[str, bytes | OSError], paths: Collection[str], limit: int) -> Iterator[str]:
    """The paths, in order, whose contents together have at most `limit` bytes."""
    for path in paths:
        content = notebooks[path]
        limit -= 0 if isinstance(content, OSError) else len(content)
        if limit >= 0:
            yield path


def _named(path: str, names: Collection[str]) -> str | None:
    """The notebook whose name a file's name contains at word borders; of several the longest, first one.

    "Copy of a", "ada_17_a-1" and "a (1)" name the notebook "a"; "ab" does not.
    """
    file = notebook_stem(path.rpartition("/")[2])
    found = []
    for name in names:
        stem = notebook_stem(name)
        words = re.escape(stem).replace(r"\ ", r"[\W_]+")  # platforms write other characters for blanks
        if at := re.search(rf"(?<![^\W_]){words}(?![^\W_])", file):
            found.append((len(stem), -at.start(), name))
    return max(found)[-1] if found else None


def contents_of(form: NotebookNode) -> frozenset[str]:
    """The texts and the grade ids of a grading template's cells, by which a copy of it is known."""
    marks = (cell.metadata.get("nbgrader", {}).get("grade_id") for cell in form.cells)
    return frozenset(filter(None, (*(cell.source.strip() for cell in form.cells), *marks)))


def _is_likeliest(
    cells: Collection[SubmittedCell],
    name: str,
    contents: Mapping[str, Collection[str]],
    handed_in: SubmissionFolder,
) -> bool:
    """Whether cells have most of this notebook; where they have as much of another, only this is missing."""
    held = {each for cell in cells for each in (cell.source.strip(), cell.grade_id, cell.cell_id)}
    held = held.union(*(defined_names(cell.source) for cell in cells if cell.cell_type == "code"))
    likeness = {
        each: (len(held.intersection(content)), each not in handed_in.notebooks)
        for each, content in contents.items()
    }
    return all(likeness[name] > likeness[each] for each in likeness if each != name)


def _missing(name: str) -> str:
    return f"No notebook {shown_name(name)} was handed in"


def _missing_reason(handed_in: SubmissionFolder, name: str, unreadable: Collection[Submission]) -> str:
    names, missing = handed_in.names, _missing(name)
    archives = [each for each in names if each.lower().endswith(ARCHIVE_ENDINGS)]
    if archives:
        return f"{missing}, only the archive {shown_name(archives[0])}: unpack it."
    for reason in (each.reason for each in unreadable if each.reason):
        return f"{missing}: {reason[0].lower()}{reason[1:]}"
    held = f"it holds {first_few([*map(shown_name, names)])}" if names else "it is empty"
    return f"{missing} ({held})."


def _read_file(
    handed_in: SubmissionFolder, path: str, answers: Mapping[str, Mapping[str, Any]]
) -> Submission:
    try:
        cells = _cells(read_notebook_file(handed_in.notebooks[path]), handed_in, path.rpartition("/")[0])
    except UnreadableFileError as error:
        return Submission(reason=f"The file {shown_name(path)} {error}.", path=path)
    known = frozenset(cell.grade_id or cell.cell_id or "" for cell in cells) & frozenset(answers)
    if answers and not known and not _defines_any(cells, answers):
        return Submission(
            reason=f"The file {shown_name(path)} holds none of this assignment's answer cells: "
            "it is another notebook under this name.",
            path=path,
        )
    return Submission(cells, found_answers=known, changed_answers=_changed_answers(cells, answers), path=path)


def _changed_answers(
    cells: Collection[SubmittedCell], answers: Mapping[str, Mapping[str, Any]]
) -> frozenset[str]:
    """The answers that the student wrote, in the answer cell or in a cell that defines the name."""
    written: set[str] = set()
    for cell in cells:
        mark = cell.grade_id or ""
        names = {mark if mark in answers else cell.cell_id or ""}
        if cell.cell_type == "code":
            names |= defined_names(cell.source)
        text = cell.source.strip()
        for name in names & answers.keys() if text else ():
            released = answers[name]
            if text != released["source"].strip() and not is_released_text(released, text):
                written.add(name)
    return frozenset(written)


def _cells(content: dict[str, Any], handed_in: SubmissionFolder, folder: str) -> tuple[SubmittedCell, ...]:
    version = content.get("nbformat", NEWEST_FORMAT)
    if isinstance(version, (int, float)) and version > NEWEST_FORMAT:
        raise UnreadableFileError(
            f"is in notebook format {plain_line(repr(version), 20)}, newer than this grader reads "
            f"({NEWEST_FORMAT}): save it with a current JupyterLab"
        )
    if "cells" not in content and "worksheets" in content:
        content = _converted(content)
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise UnreadableFileError("is not a notebook: it holds no cells")
    _refuse_too_many(len(cells))
    read = tuple(_cell(cell, handed_in.files, folder) for cell in cells if isinstance(cell, dict))
    texts = (cell.source if cell.cell_type == "code" else DATA.sub("", cell.source) for cell in read)
    if sum(map(len, texts)) > MOST_TEXT:
        raise UnreadableFileError(
            f"holds more than {MOST_TEXT:,} characters in its cells: put data into a file beside it"
        )
    return read


def _converted(content: dict[str, Any]) -> dict[str, Any]:
    """A notebook from before 2015 in today's form."""
    sheets = content["worksheets"] if isinstance(content["worksheets"], list) else []
    lists = (each for sheet in sheets if isinstance(sheet, dict) for each in sheet.values())
    _refuse_too_many(sum(len(each) for each in lists if isinstance(each, list)))
    try:
        converted: dict[str, Any] = nbformat.convert(nbformat.from_dict(content), NEWEST_FORMAT)
    except Exception as error:
        message = plain_line(f"{type(error).__name__}: {error}")
        raise UnreadableFileError(
            f"is in an old notebook format that cannot be converted ({message})"
        ) from error
    return converted


def _refuse_too_many(cells: int) -> None:
    if cells > MOST_CELLS:
        raise UnreadableFileError(f"holds {cells:,} cells, more than the {MOST_CELLS:,} that are read")


def _cell(cell: dict[str, Any], files: Mapping[str, bytes], folder: str) -> SubmittedCell:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    # What cannot be encoded (half of a surrogate pair) could not be written back.
    source = source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
    kind = cell.get("cell_type")
    source = source.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    return SubmittedCell(
        kind if kind in ("code", "markdown", "raw") else "raw",
        source,
        grade_id if isinstance(grade_id, str) else None,
        cell.get("id") if isinstance(cell.get("id"), str) else None,
        {} if kind == "code" else read_pictures(source, cell.get("attachments"), files, folder),
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
