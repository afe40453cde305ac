"""A newer release of a lesson is brought into a learner's copy: new text and files, the learner's answers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RECORD = Path(".attention-lab") / "lessons.json"  # in the work folder: what was copied, by lesson


@dataclass(frozen=True)
class ReleaseRecord:
    """The release that a learner's copy of a lesson was made of."""

    digests: Mapping[str, str] = field(default_factory=dict)  # file -> digest of its content
    cells: Collection[str] = ()  # the names of its notebook's cells


def describe_release(lesson: Path) -> ReleaseRecord:
    """Return what is remembered of a released lesson when it is copied."""
    files = list(_files(lesson))
    names = [_name(cell) for file in files if file.suffix == ".ipynb" for cell in _cells(lesson / file)]
    return ReleaseRecord({file.as_posix(): _digest(lesson / file) for file in files}, names)


def read_record(folder: Path) -> dict[str, ReleaseRecord]:
    """Return what was copied into a work folder; nothing if that is not known."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        content = json.loads((folder / RECORD).read_text("utf-8"))
        return {lesson: ReleaseRecord(**copied) for lesson, copied in content.items()}
    return {}


def write_record(folder: Path, record: Mapping[str, ReleaseRecord]) -> None:
    """Remember what was copied. Raises OSError if it cannot be written."""
    file = folder / RECORD
    file.parent.mkdir(exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}.new")
    new.write_text(json.dumps({lesson: asdict(copied) for lesson, copied in record.items()}), "utf-8")
    os.replace(new, file)


@dataclass(frozen=True)
class LessonUpdate:
    """What an update changed in a learner's copy of a lesson."""

    files: list[str]  # the files that were replaced
    new_cells: int  # of its notebook: those that the earlier release did not have
    backups: list[str]  # copies of files that the learner had changed


def update_lesson(release: Path, own: Path, copied: ReleaseRecord) -> LessonUpdate:
    """Bring the changed files of a release into a learner's copy of the lesson.

    Parameters
    ----------
    release, own
        The folder of the released lesson, and that of the learner's copy.
    copied
        The release that the copy was made of.

    Returns
    -------
    LessonUpdate
        The replaced files, and a backup of each that the learner had changed.

    Raises
    ------
    OSError
        If something cannot be read or written.
    """
    files, backups, new_cells = list[str](), list[str](), 0
    for file in _files(release):
        name, old = file.as_posix(), own / file
        if copied.digests.get(name) == _digest(release / file):
            continue
        content = (release / file).read_bytes()
        files.append(name)
        if file.suffix == ".ipynb":
            new_cells += sum(_name(cell) not in copied.cells for cell in _cells(release / file))
        if old.exists() and _digest(old) != copied.digests.get(name):
            backup = _backup_path(old)
            shutil.copy2(old, backup)
            backups.append(backup.name)
            if file.suffix == ".ipynb":
                content = _merged(content, old.read_bytes(), copied.cells)
        old.parent.mkdir(parents=True, exist_ok=True)
        new = old.with_name(f".{old.name}.new")
        new.write_bytes(content)
        os.replace(new, old)
    return LessonUpdate(files, new_cells, backups)


def restore_missing(release: Path, own: Path) -> list[str]:
    """Copy the files of a released lesson that a learner's copy lacks; return their names."""
    missing = [file for file in _files(release) if not (own / file).exists()]
    for file in missing:
        (own / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release / file, own / file)
    return [file.as_posix() for file in missing]


def merge_answers(
    release: dict[str, Any], own: dict[str, Any], earlier_cells: Collection[str]
) -> dict[str, Any]:
    """Return a released notebook with the learner's answers and the cells that the learner added.

    Parameters
    ----------
    release, own
        The notebooks as read from JSON. Cells are matched by their grade id, others by their cell id.
    earlier_cells
        The names of the cells of the release that `own` was made of: those are not the learner's.

    Returns
    -------
    dict
        The release; each answer cell has the learner's source, and each added cell follows the cell that it
        followed before.
    """
    names = {_name(cell) for cell in release["cells"]}
    answers = {_name(cell): cell["source"] for cell in own["cells"] if _is_answer(cell)}
    added: dict[str, list[dict[str, Any]]] = {}
    previous = ""
    for cell in own["cells"]:
        if _name(cell) in names:
            previous = _name(cell)
        elif _name(cell) not in earlier_cells:
            added.setdefault(previous, []).append(cell)
    cells = added.pop("", [])
    for cell in release["cells"]:
        name = _name(cell)
        cells.append(cell | {"source": answers[name]} if _is_answer(cell) and name in answers else cell)
        cells += added.pop(name, [])
    return release | {"cells": cells}


def _merged(release: bytes, own: bytes, earlier_cells: Collection[str]) -> bytes:
    """Return the merged notebook, or the release if the learner's file is not a notebook."""
    try:
        merged = merge_answers(json.loads(release), json.loads(own), earlier_cells)
    except (ValueError, KeyError, TypeError, AttributeError):
        return release
    return (json.dumps(merged, ensure_ascii=False, indent=1) + "\n").encode()


def _files(lesson: Path) -> Iterator[Path]:
    """Yield the files of a released lesson, relative to its folder."""
    for path in sorted(lesson.rglob("*")):
        relative = path.relative_to(lesson)
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in relative.parts):
            yield relative


def _cells(notebook: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook; none if the file is not a notebook."""
    try:
        return list(json.loads(notebook.read_text("utf-8"))["cells"])
    except (ValueError, KeyError, TypeError):
        return []


def _name(cell: dict[str, Any]) -> str:
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id") or cell.get("id", ""))


def _is_answer(cell: dict[str, Any]) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("solution"))


def _backup_path(file: Path) -> Path:
    numbers = ("", *(f" {number}" for number in range(2, 100)))
    paths = (file.with_name(f"{file.stem} (before the update{number}){file.suffix}") for number in numbers)
    return next((path for path in paths if not path.exists()), file.with_name(f"{file.name}.before"))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
