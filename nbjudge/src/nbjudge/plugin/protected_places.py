"""Where a class's work and its settings lie, none of which student code may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_config_path
from nbgrader.exchange.default import Exchange
from traitlets.config import Config
from traitlets.config.loader import JSONFileConfigLoader, PyFileConfigLoader

from nbjudge.course.gradebook import file_of

STEPS = ("source", "release", "solution", "submitted", "autograded", "feedback")


def protected_places(coursedir: Any, config: Config) -> list[tuple[str, Path]]:
    """The places of the course that nbgrader has open, each with what a person would call it."""
    root = Path(coursedir.root)
    places = [("The course", root)]
    for step in STEPS:  # any of them may be a link, or a folder elsewhere
        places.append((f"The course's folder {step}", root / getattr(coursedir, f"{step}_directory")))
    gradebook = file_of(coursedir.db_url)
    if gradebook is not None:
        places.append(("The gradebook", root / gradebook))
    folders = [*map(Path, reversed(jupyter_config_path())), root]  # the last one counts
    places += [("The configuration", file) for folder in folders for file in _configurations(folder)]
    exchange = Exchange(config=_everyones(folders, config))
    return [*places, ("The exchange", Path(exchange.root)), ("The exchange's cache", Path(exchange.cache))]


def _configurations(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*_config.*")) if file.suffix in (".py", ".json")]


def _everyones(folders: list[Path], config: Config) -> Config:
    """What nbgrader would read besides the course's own settings, and those."""
    whole = Config()
    for folder in folders:
        for kind, loader in ((".py", PyFileConfigLoader), (".json", JSONFileConfigLoader)):
            if (folder / f"nbgrader_config{kind}").is_file():
                whole.merge(loader(f"nbgrader_config{kind}", path=str(folder)).load_config())
    whole.merge(config)
    return whole
