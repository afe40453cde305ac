"""The lessons as they are released, and a student's own copy of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import Console

import attention_lab
from attention_lab.start.updates import (
    describe_release,
    read_record,
    restore_missing,
    update_lesson,
    write_record,
)
from nbjudge.errors import CourseError

FIRST_PAGE = "00_start_here/start_here.ipynb"


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

    A learner's answers and added cells are kept, see `attention_lab.start.updates`. Raises CourseError if the
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
