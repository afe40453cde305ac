"""The hooks into nbgrader's `Autograde` that concern the gradebook.

`converter` is the `Autograde`; see `hooks`. What would make each of them unnecessary in nbgrader:

- `share_sql`: one engine per gradebook, in place of nine for each submission, each of which compiles its
  statements. Without it nbgrader's part takes 127 ms of a processor per notebook, with it 92 ms.
- `take_back_ungraded`: one transaction for the entry of a submission and its scores.
- `keep_marks`: a setting for which marks a new grading offers again.
- `update_penalties`: a command that applies a moved due date to what is graded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config

from nbjudge.course.configuration import has_late_penalties
from nbjudge.course.folders import folders_of
from nbjudge.plain_text import plain_line
from nbjudge.record.graded_notebook import remove_unfinished
from nbjudge.record.grades import NotebookGrades, open_tasks, read_grades, read_marked_answers

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


def share_sql(converter: Any) -> None:
    """Let connections to the gradebook share compiled statements: compiling takes longer than running."""
    converter.coursedir.db_url = with_shared_sql(converter.coursedir.db_url)


class SQLite(SQLiteDialect_pysqlite):
    """SQLAlchemy's dialect for SQLite with equal instances, so that their engines share one cache.

    nbgrader opens the gradebook nine times per submission, each time with an engine of its own, and an engine
    compiles each statement again. The dialect also remembers which tables there are.
    """

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
    """Return the URL of the same gradebook with shared statements; of another database as it is."""
    before, colon, place = url.partition(":")
    if before not in ("sqlite", "sqlite+pysqlite"):
        return url
    registry.register(f"sqlite.{DRIVER}", __name__, SQLite.__name__)
    return f"sqlite+{DRIVER}{colon}{place}"


def keep_marks(converter: Any) -> None:
    """Keep a mark given by hand where the answer is the same to the letter and its automatic points are.

    nbgrader offers every mark again that it grades again, except on tasks, whatever the answer is. A learning
    platform gets no grade for a submission with a mark that is offered.
    """
    coursedir, end = converter.coursedir, converter.set_permissions
    init_destination, convert = converter.init_destination, converter.convert_notebooks
    folders = folders_of(coursedir)
    earlier: dict[str, tuple[NotebookGrades, dict[str, str]]] = {}

    def init_destination_after_note(assignment: str, student: str) -> bool:
        earlier.clear()
        graded = folders.autograded(student, assignment)
        if graded.is_dir():  # nbgrader removes it
            for (_, name), grades in read_grades(coursedir.db_url, assignment, student).items():
                if grades.has_marks:
                    earlier[name] = grades, read_marked_answers(graded / f"{name}.ipynb")
        return bool(init_destination(assignment, student))

    def end_with_marks(assignment: str, student: str) -> None:
        for name, (grades, answers) in earlier.items():
            now = read_marked_answers(folders.autograded(student, assignment) / f"{name}.ipynb")
            same = {cell for cell, answer in now.items() if answer == answers.get(cell)}
            with _gradebook(converter) as gradebook:
                for grade in gradebook.find_submission_notebook(name, assignment, student).grades:
                    before = grades.cells.get(grade.name)
                    if before is not None and before.manual_score is not None:
                        is_same = grade.name in same and grade.auto_score == before.auto_score
                        grade.needs_manual_grade = before.waits or not is_same
                gradebook.db.commit()
        end(assignment, student)

    def convert_and_tell() -> None:
        convert()
        if not getattr(converter, "only", ""):  # `nbjudge grade` says it once for the class
            for sentence in open_tasks(coursedir.db_url, folders, coursedir.assignment_id):
                converter.log.warning(sentence)

    converter.init_destination, converter.set_permissions = init_destination_after_note, end_with_marks
    converter.convert_notebooks = convert_and_tell


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


def update_penalties(config: Config, coursedir: Any, log: Any) -> list[str]:
    """Have nbgrader's plugin decide again on the submissions that are late, or were.

    Returns the students whose penalty has changed, because a due date or an extension was moved.
    """
    if not has_late_penalties(config):
        return []
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        before = _penalties(gradebook, coursedir.assignment_id)
    decide = AssignLatePenalties(config=config, log=log)
    for student, notebook in before:
        names = {
            "student": student,
            "assignment": coursedir.assignment_id,
            "notebook": notebook,
            "db_url": coursedir.db_url,
        }
        decide.preprocess(nbformat.v4.new_notebook(), ResourcesDict(nbgrader=names))
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        after = _penalties(gradebook, coursedir.assignment_id)
    return sorted({student for (student, _), penalty in before.items() ^ after.items() if penalty})


def _penalties(gradebook: Gradebook, assignment: str) -> dict[tuple[str, str], float]:
    """By student and notebook, of the submissions that are late or have a penalty."""
    return {
        (submission.student.id, notebook.name): notebook.late_submission_penalty or 0
        for submission in gradebook.assignment_submissions(assignment)
        for notebook in submission.notebooks
        if submission.total_seconds_late > 0 or notebook.late_submission_penalty
    }
