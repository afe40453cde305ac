"""The lessons as they are released, and a student's own copy of them.

A newer release of a lesson is brought into the copy: new text and files, the learner's answers.
"""

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

from rich.console import Console

import attention_lab
from attention_lab.errors import CourseError

FIRST_PAGE = "00_start_here/start_here.ipynb"
RECORD = Path(".attention-lab") / "lessons.json"  # in the work folder: what was copied, by lesson


def released_lessons() -> Path:
    """The folder of the released lessons: inside an installed package, beside a checked-out one."""
    package = Path(attention_lab.__file__).resolve().parent
    for folder in (package / "lessons", package.parent / "release"):
        if any(folder.glob("*/*.ipynb")):
            return folder
    raise CourseError(
        f"The lessons are missing: neither {package / 'lessons'} nor {package.parent / 'release'} is there. "
        "Install Attention Lab again, or run `make build` in the course's folder."
    )


def add_missing_lessons(release: Path, folder: Path, console: Console) -> None:
    """Copy each lesson or file of `release` that `folder` lacks, and update lessons that were released again.

    A learner's answers and added cells are kept, see `update_lesson`. Raises CourseError if the
    lessons cannot be written.
    """
    if folder.resolve().is_relative_to(release.resolve()):
        raise CourseError(f"{folder} holds the lessons themselves: choose another folder for your work.")
    if folder.exists() and not folder.is_dir():
        raise CourseError(f"{folder} is a file: name a folder for your work, or one that is to be made.")
    names = sorted(lesson.name for lesson in release.iterdir() if _is_lesson(lesson))
    existing = [name for name in names if (folder / name).exists()]
    added = [name for name in names if name not in existing]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        record = read_record(folder)
        released = {name: describe_release(release / name) for name in names}
        for name in added:
            _copy_whole(release / name, folder / name)
        # Of a copy without a record it is not known which of its cells the learner wrote.
        newer = [
            name for name in existing if name in record and record[name].digests != released[name].digests
        ]
        updates = {name: update_lesson(release / name, folder / name, record[name]) for name in newer}
        restored = {name: restore_missing(release / name, folder / name) for name in existing}
        write_record(folder, record | {name: released[name] for name in (*added, *newer)})
    except OSError as error:  # of several files, shutil tells in a list
        reason = error.strerror or "not every file can be written"
        raise CourseError(
            f"The lessons cannot be put into {folder} ({reason}): "
            "choose a folder that you may write to and whose disk is not full, and start again."
        ) from error
    if added:
        console.print(f"Added to {folder}: {', '.join(added)}.", highlight=False)
    for name in newer:
        update = updates[name]
        cells = f", {update.new_cells} new cells" if update.new_cells else ""
        before = f" As it was before: {', '.join(update.backups)}." if update.backups else ""
        console.print(
            f"Updated {folder / name} ({', '.join(update.files)}{cells}); your answers are kept.{before}",
            highlight=False,
            soft_wrap=True,
        )
    for name, files in restored.items():
        if files:
            console.print(f"Restored in {folder / name}: {', '.join(files)}.", highlight=False)
    if unchanged := [name for name in existing if name not in newer and not restored[name]]:
        console.print(
            f"Kept as you left them in {folder}: {', '.join(unchanged)}. "
            "To start one again, rename its folder.",
            highlight=False,
        )


def _is_lesson(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("*.ipynb"))


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a folder so that it is there whole or not at all, whenever the copying is interrupted."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    unfinished.rename(target)


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
    """The changes that an update made to a learner's copy of a lesson."""

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
