"""Reading what a student handed in, whatever state the file is in.

Only three things of a submitted cell matter: its type, its text (with the pictures of prose) and which
released cell it is. Everything else (outputs, tags, widget state, metadata) is dropped on reading, so nothing
in it can break the grader or mean anything to it.

A picture (an attachment, data within the text, or a file beside the notebook) becomes an attachment of the
graded cell if its content is that of a picture and small enough. What it was called, and what kind it was
said to be, is not used.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from posixpath import join, normpath
from typing import Any
from urllib.parse import unquote

import nbformat
from nbformat import NotebookNode

from nbjudge.cell_metadata import is_released_text
from nbjudge.plain_text import first_few, plain_line, shown_name
from nbjudge.submission.files import (
    ALL_CANDIDATES,
    SubmissionFolder,
    UnreadableFileError,
    notebook_stem,
    read_notebook_file,
)

LARGEST_PICTURE = 5 * 2**20  # bytes
ALL_PICTURES = 20 * 2**20  # bytes of a notebook
KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
SHOWN = "PNG, JPEG, GIF or WebP"
WHERE_IT_IS = "and is in the submitted folder only"
# A text is gone through once: no part of these patterns gives back what it has taken.
DATA = re.compile(r"data:image/[\w.+-]{1,40}(?:;[\w=-]{1,40}+)*+,[\w+/=%-]{100,}+")
PICTURE = re.compile(
    r"!\[(?P<alt>[^\[\]\n]*+)\]\([ \t]*+<?(?P<address>[^)\s>]*+)[^)\n]*+\)?|<img\b(?P<attributes>[^<>]*+)>",
    re.IGNORECASE,
)
SOURCE = re.compile(r"\bsrc\s{0,9}=\s{0,9}[\"']?([^\"'\s]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Picture:
    """A picture that prose shows, or why it cannot be shown."""

    content: bytes = b""
    reason: str = ""

    @property
    def kind(self) -> str:
        """Its type, such as "png", as its first bytes tell; empty if it is none that is shown."""
        kind = next((kind for start, kind in KINDS.items() if self.content.startswith(start)), "")
        return kind if kind != "webp" or self.content[8:12] == b"WEBP" else ""

    @property
    def name(self) -> str:
        """Its name as an attachment: the same for the same content."""
        return f"picture-{hashlib.sha256(self.content).hexdigest()[:16]}.{self.kind}"

    def as_attachment(self) -> dict[str, str]:
        """Its entry among the attachments of a cell."""
        return {f"image/{self.kind}": base64.b64encode(self.content).decode()}


MISSING = Picture(reason="no such picture of at most 10 MiB was handed in")


def address_of(found: re.Match[str]) -> str:
    """The address in a match of `PICTURE`."""
    if found["address"] is not None:
        return found["address"]
    source = SOURCE.search(found["attributes"])
    return source[1] if source else ""


def read_pictures(text: str, attachments: Any, files: Mapping[str, bytes], folder: str) -> dict[str, Picture]:
    """The pictures that a cell's text shows, by the address in it, without those of the web.

    `files` are those that were handed in, and `folder` is the notebook's among them. The `attachments`
    are in whatever form they were handed in.
    """
    pictures = {}
    # Decoded once, by whatever address the text calls them.
    attached = {name: _attached(bundle) for name, bundle in _mapping(attachments).items()}
    for address in {address_of(found) for found in PICTURE.finditer(text)} - {""}:
        scheme, colon, rest = address.partition(":")
        if scheme == "data":
            pictures[address] = _checked(_decoded(rest.partition(",")[2]))
        elif scheme == "attachment":
            pictures[address] = attached.get(unquote(rest), MISSING)
        elif not colon:
            content = files.get(normpath(join(folder, unquote(address))))
            pictures[address] = MISSING if content is None else _checked(content)
    return pictures


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _attached(bundle: Any) -> Picture:
    data = next(iter(_mapping(bundle).values()), "")
    if isinstance(data, list):
        data = "".join(part for part in data if isinstance(part, str))
    return _checked(_decoded(data) if isinstance(data, str) else b"")


def _decoded(data: str) -> bytes:
    try:
        return binascii.a2b_base64(unquote(data))
    except ValueError:
        return b""


def _checked(content: bytes) -> Picture:
    if len(content) > LARGEST_PICTURE:
        return Picture(reason=f"it has more than {LARGEST_PICTURE // 2**20} MiB, {WHERE_IT_IS}")
    picture = Picture(content)
    return picture if picture.kind else Picture(reason=f"it is no {SHOWN} picture, {WHERE_IT_IS}")


class PictureSpace:
    """The space that one notebook's pictures may still take, and which of them are not shown."""

    def __init__(self) -> None:
        self._bytes = ALL_PICTURES
        self._not_shown: dict[str, dict[str, None]] = {}  # what a person knows each by, by the reason

    def admitted(self, pictures: Mapping[str, Picture]) -> dict[str, Picture]:
        """Those of a cell's pictures that are shown."""
        shown = {}
        for address, picture in pictures.items():
            reason = picture.reason
            if not reason and len(picture.content) > self._bytes:
                reason = f"all have more than {ALL_PICTURES // 2**20} MiB, {WHERE_IT_IS}"
            if reason:
                name = shown_name(unquote(address.removeprefix("attachment:")))
                name = "data in the text" if address.startswith("data:") else name
                self._not_shown.setdefault(reason, {})[name] = None
            else:
                self._bytes -= len(picture.content)
                shown[address] = picture
        return shown

    @property
    def remarks(self) -> list[str]:
        """Sentences about the pictures that are not shown."""
        return [
            f"Not shown as a picture: {first_few(list(names))} ({reason})."
            for reason, names in self._not_shown.items()
        ]


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
    """Return whether cells have most of this notebook; if as much of another, only this one is missing."""
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
