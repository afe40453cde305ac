"""Write grades to nbgrader's gradebook and `autograded/`, and take back those of a grading that did not end.

Whether they can be written is checked before grading and while writing; a failure is one sentence. nbgrader
enters a submission into the gradebook before it grades it, and without scores it counts as 0 there. If its
grading does not end, the earlier grade is restored; without one, the entry is removed.

nbgrader opens the gradebook nine times per submission, each time with an engine of its own, and an engine
compiles each statement again. `SQLite` is SQLAlchemy's dialect for SQLite, except that all its instances are
equal and their engines share one cache. It also remembers which tables there are.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbconvert.writers.files import FilesWriter
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from nbjudge.course.folders import folders_of
from nbjudge.course.gradebook import sqlite_file, unreachable_reason
from nbjudge.errors import GradingStoppedError
from nbjudge.plain_text import plain_line
from nbjudge.record.graded_notebook import remove_unfinished

LEAST_FREE_BYTES = 32 * 2**20  # bytes that must be free before a submission is graded
NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
GRADES_ARE_KEPT = "The grades so far are kept: fix this and run the same command again."
# What nbgrader changes of each kind of row while it grades.
CHANGED = {
    "SubmittedAssignment": ("timestamp",),
    "SubmittedNotebook": ("late_submission_penalty",),
    "Grade": ("auto_score", "needs_manual_grade"),
    "Comment": ("auto_comment",),
}
Earlier = dict[str, dict[str, Any]]  # the earlier values of each row's columns, by the id of the row
NOT_TAKEN_BACK = "%s: its grading stopped, and the gradebook may show 0 for it until it is graded again (%s)."
DRIVER = "nbjudge"  # `sqlite+nbjudge:///gradebook.db`
_compiled: dict[Any, Any] = {}  # a few dozen statements of nbgrader's
_tables: set[tuple[int, int, str]] = set()  # those that a gradebook is known to have, by device and inode


class GradedNotebookWriter(FilesWriter):
    """nbconvert's writer, which says in one sentence what could not be written and where."""

    def _makedir(self, path: str, mode: int = 0o755) -> None:
        with exit_on_write_error(Path(path), any_error=True):
            super()._makedir(path, mode)

    def write(self, output: Any, resources: Any, notebook_name: str | None = None, **options: Any) -> Any:
        with exit_on_write_error(Path(self.build_directory), any_error=True):
            return super().write(output, resources, notebook_name=notebook_name, **options)


@contextmanager
def exit_on_write_error(place: Path, any_error: bool = False) -> Iterator[None]:
    """Stop the run with a sentence where the gradebook or a file cannot be written.

    Of the file system's errors those that say so; with `any_error` all.
    """
    try:
        yield
    except OperationalError as error:
        raise GradingStoppedError(
            f"Grading stopped: the gradebook cannot be written ({error.orig}). {GRADES_ARE_KEPT}"
        ) from error
    except OSError as error:
        if not any_error and error.errno not in NOT_WRITTEN:
            raise
        where = error.filename or place
        raise GradingStoppedError(
            f"Grading stopped: {where} cannot be written ({error.strerror}). {GRADES_ARE_KEPT}"
        ) from error


def refuse_unwritable(coursedir: Any, what_happened: str) -> None:
    """Stop the run, with a sentence, where grades cannot be written to nbgrader's folder or gradebook."""
    reason = _obstacle(folders_of(coursedir).by_step()["autograded"], coursedir.db_url)
    if reason is not None:
        raise GradingStoppedError(f"{what_happened} {reason} {GRADES_ARE_KEPT}")


def _obstacle(autograded: Path, database: str) -> str | None:
    places = [_nearest_existing(autograded)]
    unreachable = unreachable_reason(database)
    if unreachable is not None:
        return unreachable
    file = sqlite_file(database)
    if file is not None:
        file = file.absolute()
        places += [place for place in (file, _nearest_existing(file.parent)) if place.exists()]
    for place in places:
        if not os.access(place, os.W_OK):
            return f"{place} cannot be written to: it, or the disk it is on, is read-only for you."
        free = shutil.disk_usage(place).free
        if free < LEAST_FREE_BYTES:
            return (
                f"The disk of {place} is full: {free // 2**20} MiB are free, and grading needs "
                f"{LEAST_FREE_BYTES // 2**20} MiB at least."
            )
    return None


def _nearest_existing(folder: Path) -> Path:
    """The folder itself, or the one in which it would be made."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def take_back_ungraded(converter: Any) -> None:
    """Have nbgrader's `Autograde` take back what it entered for a submission that it then did not grade.

    Whatever ends its grading: a stopped run, Ctrl-C, a failure of this submission alone.
    """
    begin, end, convert = converter.init_assignment, converter.set_permissions, converter.convert_notebooks
    begun: dict[tuple[str, str], Earlier] = {}

    def take_back() -> None:
        for (assignment, student), earlier in begun.items():
            try:
                # nbgrader removes the folder itself unless the whole run is stopped. First, because a full
                # disk then has space for the gradebook again.
                folder = folders_of(converter.coursedir).autograded(student, assignment)
                names = [Path(notebook).stem for notebook in converter.notebooks]
                remove_unfinished(folder, names, converter.coursedir.notebook_id == "*")
                with _gradebook(converter) as gradebook:
                    _restore(gradebook, assignment, student, earlier)
            except (SQLAlchemyError, OSError) as error:  # it must not hide what stopped the grading
                converter.log.error(NOT_TAKEN_BACK, student, plain_line(str(error)))
        begun.clear()

    def begin_after_note(assignment: str, student: str) -> None:
        take_back()  # of the one before, which failed
        with _gradebook(converter) as gradebook:
            begun[assignment, student] = _entered(gradebook, assignment, student)
        begin(assignment, student)

    def end_with_grades(assignment: str, student: str) -> None:
        begun.clear()  # nbgrader gets here once all notebooks have their grades
        end(assignment, student)

    def convert_and_take_back() -> None:
        try:
            convert()
        finally:
            take_back()

    converter.init_assignment, converter.set_permissions = begin_after_note, end_with_grades
    converter.convert_notebooks = convert_and_take_back


def _gradebook(converter: Any) -> Any:
    return Gradebook(converter.coursedir.db_url, converter.coursedir.course_id)


def _entered(gradebook: Any, assignment: str, student: str) -> Earlier:
    """What the gradebook has of a submission; nothing where no one has graded or extended it."""
    rows = list(_rows(gradebook, assignment, student))
    wanted = ("auto_score", "manual_score", "extra_credit", "auto_comment", "manual_comment", "extension")
    if all(getattr(row, name, None) is None for row in rows for name in wanted):
        return {}  # such as after a run that was killed
    return {row.id: {name: getattr(row, name) for name in CHANGED[type(row).__name__]} for row in rows}


def _restore(gradebook: Any, assignment: str, student: str, earlier: Earlier) -> None:
    rows = list(_rows(gradebook, assignment, student))
    for row in reversed(rows):
        # Not by nbgrader's own method, which logs a traceback where the disk is full.
        if not earlier:
            gradebook.db.delete(row)
        for name, value in earlier.get(row.id, {}).items():
            setattr(row, name, value)
    gradebook.db.commit()


def _rows(gradebook: Any, assignment: str, student: str) -> Iterator[Any]:
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return
    yield submission
    for notebook in submission.notebooks:
        yield notebook
        yield from notebook.grades
        yield from notebook.comments


class SQLite(SQLiteDialect_pysqlite):
    """The dialect of a URL with this driver."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def has_table(self, connection: Any, table_name: str, schema: Any = None, **options: Any) -> bool:
        """Look for a table once per file, because nbgrader does it whenever it opens the file."""
        file = connection.engine.url.database
        about = os.stat(file) if file and os.path.exists(file) else None
        table = None if about is None else (about.st_dev, about.st_ino, table_name)
        if table in _tables:
            return True
        found = bool(super().has_table(connection, table_name, schema, **options))
        if found and table is not None:
            _tables.add(table)
        return found

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=_compiled)


def with_shared_sql(url: str) -> str:
    """Return the URL of the same gradebook with shared statements; a URL of another database stays as it is.

    Parameters
    ----------
    url
        What nbgrader opens.
    """
    before, colon, place = url.partition(":")
    if before not in ("sqlite", "sqlite+pysqlite"):
        return url
    registry.register(f"sqlite.{DRIVER}", __name__, SQLite.__name__)
    return f"sqlite+{DRIVER}{colon}{place}"
