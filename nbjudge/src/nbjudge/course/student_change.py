"""A student who gets another id: a change of files and gradebook that is whole or not made at all.

A journal in the course's folder says what is to be done. Until it is there nothing has changed; from then on
the change is finished, by the next command if this one is killed or the power fails. Steps can be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from nbjudge.atomic_files import write_atomically
from nbjudge.errors import CourseError, GradebookError

JOURNAL = ".student-change.json"
SEEDS = ".seed-students.json"
EARLIER_IDS = ".earlier-ids.json"
LOCK_FILE = ".grading-lock"
NOT_FINISHED = "The change of {old} to {new} is not finished ({error}): fix this, and type the command again."

Content = TypeVar("Content")


class StudentChange(msgspec.Struct, frozen=True):
    """What is to be done; paths are relative to the course's folder or absolute."""

    old: str
    new: str
    moves: list[tuple[str, str]] = []  # folders, from and to
    files: dict[str, str] = {}  # what files will hold


def seed_student(root: Path, assignment: str, student: str) -> str:
    """The id that the seed of a submission is made of: that under which it was graded first."""
    file = root / SEEDS
    return read_seeds(root).get(assignment, {}).get(student, student) if file.exists() else student


def read_seeds(root: Path) -> dict[str, dict[str, str]]:
    """By assignment and student, the earlier id. Raises CourseError where the file cannot be read."""
    return _read(root / SEEDS, dict[str, dict[str, str]])


def read_earlier_ids(root: Path) -> dict[str, str]:
    """By an id that platforms may still use, the one that replaced it. Raises as `read_seeds` does."""
    return _read(root / EARLIER_IDS, dict[str, str])


def _read(file: Path, kind: type[Content]) -> Content:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        return kind()
    except (OSError, msgspec.DecodeError) as error:
        raise CourseError(f"{file} cannot be read ({error}): restore it from a backup.") from error


def begin_change(root: Path, change: StudentChange) -> None:
    """Write the journal and make the change; the caller holds the course's lock.

    Raises
    ------
    CourseError
        If the gradebook cannot be written, and then nothing is changed; or if a later step fails.
    """
    try:
        with (root / f"{JOURNAL}.part").open("wb") as file:
            file.write(msgspec.json.encode(change))
            file.flush()
            os.fsync(file.fileno())
        (root / f"{JOURNAL}.part").replace(root / JOURNAL)
        os.sync()
    except OSError as error:
        raise CourseError(f"{root} cannot be written to ({error.strerror}): nothing was changed.") from error
    try:
        _carry_out(root, change)
    except GradebookError:  # from the first step
        (root / JOURNAL).unlink()
        raise


def finish_change(start: Path) -> str:
    """Finish a change that an earlier command in this folder's course began; what was done, if anything.

    Raises CourseError where it cannot be finished, or where that command still runs.
    """
    root = next((folder for folder in (start, *start.parents) if (folder / JOURNAL).exists()), None)
    if root is None:
        return ""
    with exclusive_run(root):
        try:
            change = msgspec.json.decode((root / JOURNAL).read_bytes(), type=StudentChange)
        except FileNotFoundError:  # the other command has ended meanwhile
            return ""
        except (OSError, msgspec.DecodeError) as error:
            raise CourseError(f"{root / JOURNAL} cannot be read ({error}).") from error
        _carry_out(root, change)
    return f"The change of {change.old} to {change.new}, which was interrupted, is finished."


def steps_of(root: Path, change: StudentChange) -> Iterator[Callable[[], None]]:
    """The steps, each of which does nothing where it is done already."""
    from nbjudge.course.gradebook import gradebook_url, rename_student  # which imports nbgrader

    yield partial(rename_student, gradebook_url(root), change.old, change.new)
    for file, content in change.files.items():
        yield partial(_write, root / file, content)
    for source, goal in change.moves:
        yield partial(_move, root / source, root / goal, change)


def _carry_out(root: Path, change: StudentChange) -> None:
    try:
        for step in steps_of(root, change):
            step()
        os.sync()
        (root / JOURNAL).unlink()
    except OSError as error:
        raise CourseError(NOT_FINISHED.format(old=change.old, new=change.new, error=error)) from error


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, content.encode())


def _move(source: Path, goal: Path, change: StudentChange) -> None:
    if os.path.lexists(source):
        goal.parent.mkdir(parents=True, exist_ok=True)
        source.rename(goal)
    if source.parent.name == change.old:
        with suppress(OSError):  # something else is in it
            source.parent.rmdir()
    from markupsafe import escape  # as the page was written; a tutor has no need of it

    before, after = (f"Feedback for {escape(name)} ".encode() for name in (change.old, change.new))
    for page in goal.glob("*.html"):
        content = page.read_bytes()
        if before in content:
            write_atomically(page, content.replace(before, after, 1), page.stat().st_mode & 0o777)


@contextmanager
def exclusive_run(root: Path) -> Iterator[None]:
    """Hold the course's lock, which ends with this process at the latest.

    Raises CourseError where another run holds it, or where the folder cannot be written to.
    """
    import fcntl  # Windows has none, and reads whose seeds are whose

    try:
        file = os.open(root / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CourseError(f"{root} cannot be written to ({error.strerror}): nothing was graded.") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(file, 20).decode() or "unknown"
            raise CourseError(
                f"Another run is grading this class already (process {other}): let it end, or end it, "
                "and run the same command again."
            ) from None
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        os.close(file)
