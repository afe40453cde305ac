"""Restore the earlier grade of a submission whose grading did not end; without one, remove the entry.

nbgrader enters a submission into the gradebook before it grades it, and without scores it counts as 0 there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from nbjudge.nbgrader_hooks.nbgrader_course import autograded_folder
from nbjudge.plain_text import plain_line
from nbjudge.record.graded_notebook import remove_unfinished

# What nbgrader changes of each kind of row while it grades.
CHANGED = {
    "SubmittedAssignment": ("timestamp",),
    "SubmittedNotebook": ("late_submission_penalty",),
    "Grade": ("auto_score", "needs_manual_grade"),
    "Comment": ("auto_comment",),
}
Earlier = dict[str, dict[str, Any]]  # the earlier values of each row's columns, by the id of the row
NOT_TAKEN_BACK = "%s: its grading stopped, and the gradebook may show 0 for it until it is graded again (%s)."


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
                folder = autograded_folder(
                    converter.coursedir, {"student": student, "assignment": assignment}
                )
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
