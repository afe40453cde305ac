"""What of this machine student code can read: the interpreter, its packages, programs and fonts.

Needs the standard library only, so that any interpreter can be asked what it would show.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

PROGRAMS = ("/usr/bin", "/usr/sbin", "/usr/libexec", "/bin", "/sbin")
LIBRARIES = (
    *("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"),
    *("/lib", "/lib32", "/lib64", "/libx32"),
    *("/usr/local/lib", "/usr/local/lib64"),
    "/usr/include",  # `torch.compile` builds with it
)
DATA = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/share/fontconfig",
    "/usr/share/matplotlib",  # Debian's package keeps its fonts and styles there
    "/usr/share/mime",
    "/usr/share/terminfo",
    "/usr/share/zoneinfo",
)
# Nothing that names the machine or its users.
SETTINGS = (
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/matplotlibrc",
    "/etc/mime.types",
)
SYSTEM = (*PROGRAMS, *LIBRARIES, *DATA, *SETTINGS)
# Of the folder that an interpreter is installed in: neither `share` nor `etc`, where courses,
# exchanges and configurations may lie.
OF_AN_INTERPRETER = ("bin", "lib", "lib64", "include", "share/terminfo", "share/zoneinfo")
OF_AN_ENVIRONMENT = ("bin", "pyvenv.cfg")
# An environment's own standard library is the one that it was made from.
INSTALLED_IN = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
READABLE = (
    "{what} ({place}) lies under {shown}, which the sandbox shows to student code: "
    "move it to a folder outside of it."
)


def exposed_paths() -> list[Path]:
    """Folders and files that are shown as they are, outermost first."""
    shown: list[Path] = []
    for place in map(Path, SYSTEM):
        if place.exists():
            shown.append(place)
    for place in sorted({*_interpreter(), *_packages()}):
        if place.exists() and not any(place.is_relative_to(other) for other in shown):
            shown.append(place)
    return shown


def links_to_the_interpreter() -> dict[Path, str]:
    """The links that lead from `sys.executable` to the interpreter itself: place -> target."""
    links, place = {}, Path(sys.executable)
    while place.is_symlink() and place not in links:
        links[place] = os.readlink(place)
        place = place.parent / links[place]
    return links


def readable(places: Iterable[tuple[str, Path]], shown: Iterable[Path]) -> str | None:
    """Which of some places student code could read, in a sentence; None if it can read none.

    Each of `places` comes with what people call it ("The gradebook").
    """
    real = [(Path(os.path.realpath(folder)), folder) for folder in shown]
    for what, place in places:
        for folder, named in real:
            if Path(os.path.realpath(place)).is_relative_to(folder):
                return READABLE.format(what=what, place=place, shown=named)
    return None


def _interpreter() -> Iterator[Path]:
    """Where the interpreter, its standard library and the shared libraries beside it lie."""
    of_its_file = Path(os.path.realpath(sys.executable))
    yield of_its_file
    installed = {Path(sys.base_prefix), Path(sys.base_exec_prefix)}
    if of_its_file.parent.name == "bin":  # where it looks for libraries, whatever it is called by
        installed.add(of_its_file.parents[1])
    for folder in installed:
        yield from (folder / name for name in OF_AN_INTERPRETER)
    for name in ("stdlib", "platstdlib", "include"):
        yield Path(sysconfig.get_path(name, vars=INSTALLED_IN))


def _packages() -> Iterator[Path]:
    for folder in {Path(sys.prefix), Path(sys.exec_prefix)}:
        yield from (folder / name for name in OF_AN_ENVIRONMENT)
    yield from map(Path, site.getsitepackages())
