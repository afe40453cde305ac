"""Where a course's gradebook is: a file of its own, or the database that `nbgrader_config.py` names."""

from __future__ import annotations

from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from nbjudge.course.configuration import read_config
from nbjudge.errors import CourseError


def gradebook_url(root: Path) -> str:
    """What nbgrader would open in this course. Raises CourseError where it cannot be reached."""
    config = read_config(root)
    config.CourseDirectory.root = str(root)
    address: str = CourseDirectory(config=config).db_url
    reason = why_unreachable(address)
    if reason is not None:
        raise CourseError(reason)
    file = file_of(address)
    # nbgrader's commands run in the course's folder, and a file may be named from there.
    return address if file is None else f"sqlite:///{root / file}"


def file_of(address: str) -> Path | None:
    """The file of a SQLite database; None of any other."""
    url = make_url(address)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def why_unreachable(address: str) -> str | None:
    """Why a database server gives no gradebook, in a sentence; None if it does, and of a file."""
    try:
        if file_of(address) is not None:
            return None
        engine = create_engine(address)
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
        said = " ".join(str(error.orig).split())
        return f"The gradebook at {make_url(address)!r} cannot be reached: {said}"
    return None
