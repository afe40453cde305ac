"""The paths of a class's work, gradebook, exchange and settings, none of which student code may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.exchange.default import Exchange
from traitlets.config import Config

from nbjudge.course.configuration import config_folders, read_config
from nbjudge.course.folders import folders_of
from nbjudge.course.gradebook import sqlite_file


def protected_paths(coursedir: Any, config: Config) -> list[tuple[str, Path]]:
    """Those of the course that nbgrader has open, each with what a person would call it.

    Raises CourseError where a configuration does not load.
    """
    root = Path(coursedir.root)
    paths = [("The course", root)]
    # Any of the folders may be a link, or lie elsewhere.
    paths += [(f"The course's folder {step}", path) for step, path in folders_of(coursedir).by_step().items()]
    gradebook = sqlite_file(coursedir.db_url)
    if gradebook is not None:
        paths.append(("The gradebook", root / gradebook))
    files = (file for folder in config_folders(root) for file in sorted(folder.glob("*_config.*")))
    paths += [("The configuration", file) for file in files if file.suffix in (".py", ".json")]
    whole = read_config(root)
    whole.merge(config)  # such as what the command line says
    exchange = Exchange(config=whole)
    return [*paths, ("The exchange", Path(exchange.root)), ("The exchange's cache", Path(exchange.cache))]
