"""nbgrader's configuration of a course: every `nbgrader_config` file that nbgrader reads for it, merged."""

from __future__ import annotations

from pathlib import Path

from jupyter_core.paths import jupyter_config_path
from traitlets.config import Config
from traitlets.config.loader import JSONFileConfigLoader, PyFileConfigLoader

from nbjudge.errors import CourseError

CONFIG_FILE = "nbgrader_config.py"
_LOADERS = {CONFIG_FILE: PyFileConfigLoader, "nbgrader_config.json": JSONFileConfigLoader}


def read_config(root: Path) -> Config:
    """The settings of the course at `root`, as nbgrader itself would read them; empty where no file has any.

    Raises CourseError where a file does not load.
    """
    config = Config()
    for folder in config_folders(root):
        for name, loader in _LOADERS.items():
            if not (folder / name).is_file():
                continue
            try:
                config.merge(loader(name, path=str(folder)).load_config())
            except Exception as error:
                raise CourseError(
                    f"{folder / name} does not load: {type(error).__name__}: {error}"
                ) from error
    return config


def config_folders(root: Path) -> list[Path]:
    """Where Jupyter and nbgrader look for configuration files; of two values the last one counts."""
    return [*map(Path, reversed(jupyter_config_path())), root]
