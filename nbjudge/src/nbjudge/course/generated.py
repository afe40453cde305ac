"""Whether an assignment was generated: nbgrader can record grades only for cells that its gradebook has."""

from __future__ import annotations

from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from nbjudge.course.configuration import read_config
from nbjudge.course.folders import CourseFolders
from nbjudge.course.gradebook import gradebook_url, sqlite_file

BUILD_COMMAND = "nbgrader generate_assignment {assignment}"
NOT_GENERATED = (
    "The gradebook does not have {what} yet: run `{command}`, which makes the release and enters the graded "
    "cells into the gradebook."
)
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
        If the gradebook's database cannot be reached.
    """
    config = read_config(folders.root) if config is None else config
    entered = _notebooks_in(gradebook_url(folders.root, config), assignment)
    missing = [
        name
        for name in (file.removesuffix(".ipynb") for file in folders.notebook_names(assignment))
        if name not in entered
    ]
    if not missing:
        return None
    what = f"the assignment {assignment!r}" if not entered else f"{assignment}/{missing[0]}"
    command = config.get("RunAndJudge", {}).get("build_command", BUILD_COMMAND)
    return NOT_GENERATED.format(what=what, command=command.format(assignment=assignment))


def _notebooks_in(url: str, assignment: str) -> set[str]:
    file = sqlite_file(url)
    if file is not None and not file.is_file():
        return set()  # to look would make an empty one
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return {name for (name,) in connection.execute(text(NOTEBOOKS), {"assignment": assignment})}
    except DBAPIError:  # a new database has no tables
        return set()
    finally:
        engine.dispose()
