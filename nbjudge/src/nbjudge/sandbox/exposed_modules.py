"""The course's own modules that student code can import: only those that the course names are exposed.

A module that is not named is hidden, also a new one. nbjudge is always hidden, wherever it is installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nbjudge.errors import CourseError

GRADER = Path(__file__).parents[1]
NOT_FOUND = (
    "c.RunAndJudge.helpers names the module {name!r}, which this Python cannot find: install it, "
    "or take its name out of nbgrader_config.py."
)


def exposed_modules(helpers: Sequence[str], exposed: Sequence[Path]) -> list[Path]:
    """Return the files and folders of the named modules that are outside of the `exposed` folders.

    Raises CourseError if there is no such module.
    """
    return [place for place in sorted(set(_places(helpers))) if not any(map(place.is_relative_to, exposed))]


def hidden_modules(helpers: Sequence[str], exposed: Sequence[Path]) -> list[Path]:
    """Return what must be hidden in the `exposed` folders: the rest of those packages, and nbjudge.

    A folder that is exposed under several names is returned under each of them.
    """
    named = set(_places(helpers))
    packages = {place.parent for place in named if (place.parent / "__init__.py") in named}
    unnamed = [
        entry
        for package in packages
        for entry in package.iterdir()
        if not any(place.is_relative_to(entry) for place in named)
    ]
    return sorted(_under_all_names([*unnamed, GRADER], exposed))


def import_folders(helpers: Sequence[str], exposed: Sequence[Path]) -> list[Path]:
    """Return the folders from which the sandbox's Python must import the named modules.

    Without them, Python would look for an installed copy of the package, which is not exposed.
    """
    folders = {_import_folder(name) for name in helpers}
    return [folder for folder in sorted(folders) if not any(map(folder.is_relative_to, exposed))]


def _import_folder(name: str) -> Path:
    first = Path(_found(name.partition(".")[0]))
    return first.parents[1] if first.name == "__init__.py" else first.parent


def _places(helpers: Sequence[str]) -> Iterator[Path]:
    """The file of each module (of a package, its folder), and `__init__.py` of the packages around it."""
    for name in helpers:
        *around, _ = name.split(".")
        for depth in range(len(around)):
            yield Path(_found(".".join(around[: depth + 1])))
        found = Path(_found(name))
        # A package that is named itself is exposed completely.
        yield found.parent if found.name == "__init__.py" else found


def _found(name: str) -> str:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise CourseError(NOT_FOUND.format(name=name))
    return spec.origin


def _under_all_names(places: Iterable[Path], exposed: Sequence[Path]) -> Iterator[Path]:
    for place in places:
        real = place.resolve()
        for folder in exposed:
            if real.is_relative_to(folder.resolve()):
                yield folder / real.relative_to(folder.resolve())
