"""What student code can read of this machine: the interpreter, its packages, programs and fonts.

This module needs only the standard library, so that any interpreter can tell what it would expose.
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
    "/usr/share/matplotlib",  # fonts and styles of Debian's package
    "/usr/share/mime",
    "/usr/share/terminfo",
    "/usr/share/zoneinfo",
)
# No file that names the machine or its users.
SETTINGS = (
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/matplotlibrc",
    "/etc/mime.types",
)
SYSTEM = (*PROGRAMS, *LIBRARIES, *DATA, *SETTINGS)
# Folders of an interpreter's installation. `share` and `etc` are not among them: they may hold courses,
# exchanges and configurations.
OF_AN_INTERPRETER = ("bin", "lib", "lib64", "include", "share/terminfo", "share/zoneinfo")
OF_AN_ENVIRONMENT = ("bin", "pyvenv.cfg")
# An environment's own standard library is the one that it was made from.
INSTALLED_IN = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
INTERPRETER = Path(os.path.abspath(sys.executable))  # as typed it may hold "..": ../.venv/bin/python
READABLE = (
    "{what} ({place}) is inside {exposed}, which student code can read in the sandbox: "
    "move it to a folder outside of it."
)


def exposed_paths() -> list[Path]:
    """Return the folders and files that are exposed read-only, outermost first."""
    exposed: list[Path] = []
    for place in map(Path, SYSTEM):
        if place.exists():
            exposed.append(place)
    for place in sorted({*_interpreter(), *_packages()}):
        if place.exists() and not any(place.is_relative_to(other) for other in exposed):
            exposed.append(place)
    return exposed


def links_to_the_interpreter() -> dict[Path, str]:
    """Return the links from `INTERPRETER` to the interpreter's own file: path -> target."""
    links, place = {}, INTERPRETER
    while place.is_symlink() and place not in links:
        links[place] = os.readlink(place)
        place = place.parent / links[place]
    return links


def readable(places: Iterable[tuple[str, Path]], exposed: Iterable[Path]) -> str | None:
    """Return a sentence about the first of some places that student code could read; None if there is none.

    Each of `places` comes with a name for the sentence ("The gradebook").
    """
    real = [(Path(os.path.realpath(folder)), folder) for folder in exposed]
    for what, place in places:
        for folder, named in real:
            if Path(os.path.realpath(place)).is_relative_to(folder):
                return READABLE.format(what=what, place=place, exposed=named)
    return None


def _interpreter() -> Iterator[Path]:
    """The folders of the interpreter, its standard library and its shared libraries."""
    of_its_file = Path(os.path.realpath(INTERPRETER))
    yield of_its_file
    installed = {Path(sys.base_prefix), Path(sys.base_exec_prefix)}
    if of_its_file.parent.name == "bin":  # where it looks for libraries, under whatever name it was started
        installed.add(of_its_file.parents[1])
    for folder in installed:
        yield from (folder / name for name in OF_AN_INTERPRETER)
    for name in ("stdlib", "platstdlib", "include"):
        yield Path(sysconfig.get_path(name, vars=INSTALLED_IN))


def _packages() -> Iterator[Path]:
    for folder in {Path(sys.prefix), Path(sys.exec_prefix)}:
        yield from (folder / name for name in OF_AN_ENVIRONMENT)
    yield from map(Path, site.getsitepackages())
