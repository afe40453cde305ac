"""Where a course's gradebook is, whether it has an assignment's cells, and whether grades can be written.

It is a SQLite file of the course's own, or the database that `db_url` names. nbgrader can record grades only
for cells that the gradebook has.
"""

from __future__ import annotations

import copy
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import is_grade, is_solution, is_task
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError
from traitlets.config import Config

from nbjudge.cell_metadata import nbgrader_metadata
from nbjudge.course.configuration import read_config
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError, GradebookError
from nbjudge.plain_text import first_few
from nbjudge.settings import GradingSettings

NOT_GENERATED = (
    "The gradebook does not have {what} yet: run `{command}`, which makes the release and enters the graded "
    "cells into the gradebook."
)
REFUSED_IN_NAMES = frozenset("+[]")  # the first in so many words, the others take it for a pattern
REFUSED_NAME = (
    "nbgrader refuses an assignment with +, [ or ] in its name, such as {name!r}: rename the folder {folder} "
    "and what was handed in to it."
)
NO_FILE = " There is no gradebook {file}."
LEAST_FREE_BYTES = 32 * 2**20  # bytes that must be free before a submission is graded
GRADES_ARE_KEPT = "The grades so far are kept: fix this and run the same command again."
UNREADABLE = "The gradebook {url!r} cannot be read ({error}): check c.CourseDirectory.db_url."
NOTEBOOKS = (
    "SELECT notebook.name FROM notebook JOIN assignment ON notebook.assignment_id = assignment.id "
    "WHERE assignment.name = :assignment"
)

CELLS = (
    "SELECT base_cell.name, base_cell.type, COALESCE(grade_cells.max_score, task_cells.max_score) "
    "FROM base_cell JOIN notebook ON base_cell.notebook_id = notebook.id "
    "JOIN assignment ON notebook.assignment_id = assignment.id "
    "LEFT JOIN grade_cells ON grade_cells.id = base_cell.id "
    "LEFT JOIN task_cells ON task_cells.id = base_cell.id "
    "WHERE assignment.name = :assignment AND notebook.name = :notebook"
)
STUDENT_COLUMNS = ("first_name", "last_name", "email", "lms_user_id")
SUBMISSIONS = (
    "SELECT submitted_assignment.id FROM submitted_assignment "
    "JOIN assignment ON submitted_assignment.assignment_id = assignment.id "
    "WHERE assignment.name = :assignment"
)
OTHER_CELLS = "The source of {notebook} has other cells for answers and points than the gradebook: {what}. "
OTHER_POINTS = "The source of {notebook} gives other points than the gradebook: {what}. "
GENERATE = "Run `{command}`, and then grade with --force what is graded already."
HAS_SUBMISSIONS = (
    "nbgrader takes no such change once submissions are in the gradebook: undo it in the source, or make "
    "an assignment of its own of it. To keep it here, remove all grades and marks of the assignment with "
    "`nbgrader db assignment remove {assignment} --force`, run `{command}`, and grade all again."
)


def gradebook_url(root: Path, config: Config | None = None) -> str:
    """Return what nbgrader would open in this course, with this configuration or that of its files.

    Raises CourseError where it cannot be reached.
    """
    url: str = course_directory(root, config).db_url
    refuse_unreachable(url)
    file = sqlite_file(url)
    # nbgrader's commands run in the course's folder, and a file may be named from there.
    return url if file is None else f"sqlite:///{root / file}"


def course_id(root: Path) -> str:
    """The id under which a gradebook has this course; empty where the configuration gives none."""
    return str(course_directory(root).course_id)


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None of any other."""
    parsed = make_url(url)
    return Path(parsed.database) if parsed.get_backend_name() == "sqlite" and parsed.database else None


def refuse_unreachable(url: str) -> None:
    """Raise CourseError where a database server gives no gradebook. Files are not looked at."""
    try:
        if sqlite_file(url) is None:
            engine = create_engine(url)
            engine.connect().close()
            engine.dispose()
    except ArgumentError as error:
        raise CourseError(
            f"c.CourseDirectory.db_url in nbgrader_config.py is no address of a database ({error})."
        ) from error
    except ImportError as error:
        raise CourseError(
            f"The gradebook's database needs a package that is not installed ({error}): for PostgreSQL, "
            "pip install 'nbjudge[postgresql]'."
        ) from error
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        raise CourseError(f"The gradebook at {make_url(url)!r} cannot be reached: {reason}") from error


def refuse_unwritable(autograded: Path, database: str) -> None:
    """Raise CourseError where grades cannot be written to the folder or to the gradebook."""
    refuse_unreachable(database)
    places = [_nearest_existing(autograded)]
    file = sqlite_file(database)
    if file is not None:
        file = file.absolute()
        places += [place for place in (file, _nearest_existing(file.parent)) if place.exists()]
    for place in places:
        if not os.access(place, os.W_OK):
            raise CourseError(
                f"{place} cannot be written to: it, or the disk it is on, is read-only for you."
            )
        free = shutil.disk_usage(place).free
        if free < LEAST_FREE_BYTES:
            raise CourseError(
                f"The disk of {place} is full: {free // 2**20} MiB are free, and grading needs "
                f"{LEAST_FREE_BYTES // 2**20} MiB at least."
            )


def _nearest_existing(folder: Path) -> Path:
    """The folder itself, or the one in which it would be made."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def course_directory(root: Path, config: Config | None = None) -> CourseDirectory:
    """Return what nbgrader would make of a configuration, or of that of the course's files."""
    config = read_config(root) if config is None else copy.deepcopy(config)
    config.CourseDirectory.root = str(root)
    return CourseDirectory(config=config)


def not_generated_reason(folders: CourseFolders, assignment: str, config: Any = None) -> str | None:
    """Say with which command an assignment gets into the gradebook; None if all its notebooks are there.

    Raises CourseError if the gradebook's database cannot be reached or read.
    """
    config = read_config(folders.root) if config is None else config
    url = gradebook_url(folders.root, config)
    entered = {name for (name,) in _rows(url, NOTEBOOKS, assignment=assignment)}
    names = [Path(notebook).stem for notebook in folders.notebook_names(assignment)]
    missing = [name for name in names if name not in entered]
    if not missing:
        return None
    if REFUSED_IN_NAMES & set(assignment):
        return REFUSED_NAME.format(name=assignment, folder=folders.source / assignment)
    what = f"the assignment {assignment!r}" if not entered else f"{assignment}/{missing[0]}"
    reason = NOT_GENERATED.format(what=what, command=build_command(config, assignment))
    return reason + (NO_FILE.format(file=sqlite_file(url)) if _is_missing(url) else "")


def build_command(config: Config, assignment: str, options: str = "") -> str:
    """The command that enters an assignment into the gradebook, as it is typed."""
    command = GradingSettings(config=config).build_command
    if "{assignment}" not in command:  # one for all of them
        return command
    return command.format(assignment=shlex.quote(assignment)) + options


def other_cells_reason(
    folders: CourseFolders, assignment: str, notebook: str, form: NotebookNode, config: Config
) -> str | None:
    """Say what differs where the gradebook has other cells or points than the notebook as it is graded.

    nbgrader could not record the grades then. None if nothing differs.
    """
    url = gradebook_url(folders.root, config)
    recorded = {
        (name, kind): points
        for name, kind, points in _rows(url, CELLS, assignment=assignment, notebook=notebook)
    }
    there = dict(_recorded_cells(form))
    names = {"assignment": shlex.quote(assignment), "notebook": f"{assignment}/{notebook}"}
    added, removed = (
        [f"{name!r} is {word}" for name in sorted({name for name, _ in one.keys() - other.keys()})]
        for one, other, word in ((there, recorded, "new"), (recorded, there, "gone"))
    )
    if added or removed:
        names |= {"what": first_few([*added, *removed])}
        advice = HAS_SUBMISSIONS if has_submissions(folders.root, assignment, config) else GENERATE
    else:
        differing = [
            f"{name!r} {points:g}, not {recorded[name, kind]:g}"
            for (name, kind), points in there.items()
            if points is not None and points != recorded[name, kind]
        ]
        if not differing:
            return None
        names |= {"what": first_few(differing)}
        advice = GENERATE
    sentence = OTHER_CELLS if added or removed else OTHER_POINTS
    return (sentence + advice).format(command=build_command(config, assignment, " --force"), **names)


def has_submissions(root: Path, assignment: str, config: Config | None = None) -> bool:
    """Return whether the gradebook has a submission to an assignment."""
    return bool(_rows(gradebook_url(root, config), SUBMISSIONS, assignment=assignment))


def rename_student(url: str, old: str, new: str) -> None:
    """Give a student's submissions to another id, in one transaction; what that one lacks comes from the old.

    Raises GradebookError where it cannot be written.
    """
    if _is_missing(url):
        return
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            columns = ", ".join(STUDENT_COLUMNS)
            filled = ", ".join(
                f"{name} = COALESCE({name}, (SELECT {name} FROM student WHERE id = :old))"
                for name in STUDENT_COLUMNS
            )
            for statement in (
                f"INSERT INTO student (id, {columns}) SELECT CAST(:new AS VARCHAR), {columns} FROM student "
                "WHERE id = :old AND NOT EXISTS (SELECT 1 FROM student WHERE id = :new)",
                f"UPDATE student SET {filled} WHERE id = :new",
                "UPDATE submitted_assignment SET student_id = :new WHERE student_id = :old",
                "DELETE FROM student WHERE id = :old",
            ):
                connection.execute(text(statement), {"old": old, "new": new})
    except DBAPIError as error:
        raise GradebookError(
            f"The gradebook {make_url(url)!r} cannot be written ({error.orig}): nothing was changed."
        ) from error
    finally:
        engine.dispose()


def _recorded_cells(form: NotebookNode) -> Iterator[tuple[tuple[str, str], float | None]]:
    """Return what nbgrader's `SaveCells` enters: names and kinds, with the points of graded cells."""
    for cell in form.cells:
        name = nbgrader_metadata(cell).get("grade_id", "")
        if is_grade(cell):
            yield (name, "GradeCell"), float(cell.metadata.nbgrader["points"])
        if is_solution(cell):
            yield (name, "SolutionCell"), None
        if is_task(cell):
            yield (name, "TaskCell"), float(cell.metadata.nbgrader["points"])


def _is_missing(url: str) -> bool:
    file = sqlite_file(url)
    return file is not None and not file.is_file()


def _rows(url: str, question: str, **names: str) -> list[Any]:
    if _is_missing(url):  # to look would make an empty one
        return []
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return list(connection.execute(text(question), names))
    except (OperationalError, ProgrammingError):  # a new database has no tables
        return []
    except DBAPIError as error:
        raise CourseError(UNREADABLE.format(url=make_url(url), error=error.orig)) from error
    finally:
        engine.dispose()
