"""The course's own modules that notebooks import: what of their packages is shown to student code.

An allow-list that fails closed: a module that nobody names is hidden, a new one as well. Nothing of this
package is ever shown, wherever it is installed.
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


def exposed_modules(helpers: Sequence[str], shown: Sequence[Path]) -> list[Path]:
    """The files and folders of the named modules that none of the `shown` places holds.

    Raises CourseError where there is no such module.
    """
    return [place for place in sorted(set(_places(helpers))) if not any(map(place.is_relative_to, shown))]


def hidden_modules(helpers: Sequence[str], shown: Sequence[Path]) -> list[Path]:
    """What lies in `shown` places and is not to be seen: the rest of those packages, and the grader.

    By each of its names, where a place is shown under several.
    """
    named = set(_places(helpers))
    packages = {place.parent for place in named if (place.parent / "__init__.py") in named}
    unnamed = [
        entry
        for package in packages
        for entry in package.iterdir()
        if not any(place.is_relative_to(entry) for place in named)
    ]
    return sorted(_under_all_names([*unnamed, GRADER], shown))


def import_folders(helpers: Sequence[str], shown: Sequence[Path]) -> list[Path]:
    """Where the sandbox's Python is to look for the named modules, so that it finds the ones shown.

    Without this, a second copy of the package that is installed would be looked for, which is not shown.
    """
    folders = {_import_folder(name) for name in helpers}
    return [folder for folder in sorted(folders) if not any(map(folder.is_relative_to, shown))]


def _import_folder(name: str) -> Path:
    first = Path(_found(name.partition(".")[0]))
    return first.parents[1] if first.name == "__init__.py" else first.parent


def _places(helpers: Sequence[str]) -> Iterator[Path]:
    """Of each module its file, or its folder where it is a package, and how the packages around it begin."""
    for name in helpers:
        *around, _ = name.split(".")
        for depth in range(len(around)):
            yield Path(_found(".".join(around[: depth + 1])))
        found = Path(_found(name))
        # Of a package that is named itself, all is shown.
        yield found.parent if found.name == "__init__.py" else found


def _found(name: str) -> str:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise CourseError(NOT_FOUND.format(name=name))
    return spec.origin


def _under_all_names(places: Iterable[Path], shown: Sequence[Path]) -> Iterator[Path]:
    for place in places:
        real = place.resolve()
        for folder in shown:
            if real.is_relative_to(folder.resolve()):
                yield folder / real.relative_to(folder.resolve())
