"""Whether an assignment was generated: nbgrader can record grades only for cells that its gradebook has."""

from __future__ import annotations

from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from nbjudge.course.configuration import read_config
from nbjudge.course.folders import CourseFolders
from nbjudge.course.gradebook_url import gradebook_url, sqlite_file
from nbjudge.errors import CourseError
from nbjudge.settings import GradingSettings

NOT_GENERATED = (
    "The gradebook does not have {what} yet: run `{command}`, which makes the release and enters the graded "
    "cells into the gradebook."
)
NO_FILE = " There is no gradebook {file}."
UNREADABLE = "The gradebook {url!r} cannot be read ({error}): check c.CourseDirectory.db_url."
NOTEBOOKS = (
    "SELECT notebook.name FROM notebook JOIN assignment ON notebook.assignment_id = assignment.id "
    "WHERE assignment.name = :assignment"
)


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
    missing = [
        name
        for name in (file.removesuffix(".ipynb") for file in folders.notebook_names(assignment))
        if name not in entered
    ]
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
