"""Where a course's gradebook is: a SQLite file of its own, or the database that `db_url` names."""

from __future__ import annotations

import copy
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from traitlets.config import Config

from nbjudge.course.configuration import read_config
from nbjudge.errors import CourseError


def gradebook_url(root: Path, config: Config | None = None) -> str:
    """What nbgrader would open in this course, with this configuration or that of its files.

    Raises CourseError where it cannot be reached.
    """
    url: str = _course_directory(root, config).db_url
    reason = unreachable_reason(url)
    if reason is not None:
        raise CourseError(reason)
    file = sqlite_file(url)
    # nbgrader's commands run in the course's folder, and a file may be named from there.
    return url if file is None else f"sqlite:///{root / file}"


def existing_gradebook_url(root: Path) -> str:
    """The same, and a CourseError where it is a file that is not there: looking would make an empty one."""
    url = gradebook_url(root)
    file = sqlite_file(url)
    if file is not None and not file.is_file():
        raise CourseError(f"There is no gradebook {file}: grade the class first.")
    return url


def course_id(root: Path) -> str:
    """The id under which a gradebook has this course; empty where the configuration gives none."""
    return str(_course_directory(root).course_id)


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None of any other."""
    parsed = make_url(url)
    return Path(parsed.database) if parsed.get_backend_name() == "sqlite" and parsed.database else None


def unreachable_reason(url: str) -> str | None:
    """Why a database server gives no gradebook, in a sentence; None if it does, and of a file."""
    try:
        if sqlite_file(url) is not None:
            return None
        engine = create_engine(url)
        engine.connect().close()
        engine.dispose()
    except ArgumentError as error:
        return f"c.CourseDirectory.db_url in nbgrader_config.py is no address of a database ({error})."
    except ImportError as error:
        return (
            f"The gradebook's database needs a package that is not installed ({error}): for PostgreSQL, "
            "pip install 'nbjudge[postgresql]'."
        )
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        return f"The gradebook at {make_url(url)!r} cannot be reached: {reason}"
    return None


def _course_directory(root: Path, config: Config | None = None) -> CourseDirectory:
    config = read_config(root) if config is None else copy.deepcopy(config)
    config.CourseDirectory.root = str(root)
    return CourseDirectory(config=config)
