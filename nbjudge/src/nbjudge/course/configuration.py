"""What `nbgrader_config.py` says."""

from __future__ import annotations

from pathlib import Path

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from nbjudge.errors import CourseError

CONFIG = "nbgrader_config.py"


def read_config(root: Path) -> Config:
    """The settings of the course at `root`, as nbgrader itself would read them; none where it has no file.

    Raises CourseError where the file does not load.
    """
    try:
        return PyFileConfigLoader(CONFIG, path=str(root)).load_config()
    except FileNotFoundError:
        return Config()
    except Exception as error:
        raise CourseError(f"{root / CONFIG} does not load: {type(error).__name__}: {error}") from error
