"""Where a course's gradebook is, whether it has an assignment's cells, and whether grades can be written.

It is a SQLite file of the course's own, or the database that `db_url` names. nbgrader can record grades only
for cells that the gradebook has.
"""

from __future__ import annotations

import copy
import os
import shutil
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError
from traitlets.config import Config

from nbjudge.course.configuration import read_config
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.settings import GradingSettings

NOT_GENERATED = (
    "The gradebook does not have {what} yet: run `{command}`, which makes the release and enters the graded "
    "cells into the gradebook."
)
NO_FILE = " There is no gradebook {file}."
LEAST_FREE_BYTES = 32 * 2**20  # bytes that must be free before a submission is graded
GRADES_ARE_KEPT = "The grades so far are kept: fix this and run the same command again."
UNREADABLE = "The gradebook {url!r} cannot be read ({error}): check c.CourseDirectory.db_url."
NOTEBOOKS = (
    "SELECT notebook.name FROM notebook JOIN assignment ON notebook.assignment_id = assignment.id "
    "WHERE assignment.name = :assignment"
)


def gradebook_url(root: Path, config: Config | None = None) -> str:
    """What nbgrader would open in this course, with this configuration or that of its files.

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
    """What nbgrader would make of a configuration, or of that of the course's files."""
    config = read_config(root) if config is None else copy.deepcopy(config)
    config.CourseDirectory.root = str(root)
    return CourseDirectory(config=config)


def not_generated_reason(folders: CourseFolders, assignment: str, config: Any = None) -> str | None:
    """Why an assignment cannot be graded: its notebooks are not in the gradebook.

    Parameters
    ----------
    folders : CourseFolders
        The course's.
    assignment : str
        The name of an assignment that has source notebooks.
    config : traitlets.config.Config, optional
        The course's configuration; read from its files by default.

    Returns
    -------
    str or None
        A sentence with the command to run, `c.RunAndJudge.build_command`; None if all notebooks are there.

    Raises
    ------
    CourseError
        If the gradebook's database cannot be reached or read.
    """
    config = read_config(folders.root) if config is None else config
    url = gradebook_url(folders.root, config)
    file = sqlite_file(url)
    is_missing = file is not None and not file.is_file()
    entered = set() if is_missing else _notebooks_in(url, assignment)  # to look would make an empty one
    names = [Path(notebook).stem for notebook in folders.notebook_names(assignment)]
    missing = [name for name in names if name not in entered]
    if not missing:
        return None
    what = f"the assignment {assignment!r}" if not entered else f"{assignment}/{missing[0]}"
    command = GradingSettings(config=config).build_command
    reason = NOT_GENERATED.format(what=what, command=command.format(assignment=assignment))
    return reason + (NO_FILE.format(file=file) if is_missing else "")


def _notebooks_in(url: str, assignment: str) -> set[str]:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return {name for (name,) in connection.execute(text(NOTEBOOKS), {"assignment": assignment})}
    except (OperationalError, ProgrammingError):  # a new database has no tables
        return set()
    except DBAPIError as error:
        raise CourseError(UNREADABLE.format(url=make_url(url), error=error.orig)) from error
    finally:
        engine.dispose()
