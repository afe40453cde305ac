"""The command line of bubblewrap: what student code can see of this machine, and what it can do.

It sees the interpreter, its packages, programs and fonts. Of the course's own modules, only those that the
course names are exposed; a new one is hidden. nbjudge is always hidden, wherever it is installed.

Apart from nbjudge it needs only the standard library: any interpreter can tell what it would expose.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import site
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path

from nbjudge import framing
from nbjudge.errors import CourseError

EXPOSED = tomllib.loads(Path(__file__).with_name("exposed.toml").read_text("utf-8"))
SYSTEM: list[str] = [place for places in EXPOSED["system"].values() for place in places]
# An environment's own standard library is the one that it was made from.
INSTALLED_IN = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
INTERPRETER = Path(os.path.abspath(sys.executable))  # as typed it may hold "..": ../.venv/bin/python
READABLE = (
    "{what} ({place}) is inside {exposed}, which student code can read in the sandbox: "
    "move it to a folder outside of it."
)


def exposed_paths() -> list[Path]:
    """Return the folders and files that are exposed read-only, outermost first."""
    exposed = [place for place in map(Path, SYSTEM) if place.exists()]
    for place in sorted(set(_interpreter_and_packages())):
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


def _interpreter_and_packages() -> Iterator[Path]:
    """The folders of the interpreter, its standard library and its shared libraries, and of packages."""
    of_its_file = Path(os.path.realpath(INTERPRETER))
    yield of_its_file
    installed = {Path(sys.base_prefix), Path(sys.base_exec_prefix)}
    if of_its_file.parent.name == "bin":  # where it looks for libraries, under whatever name it was started
        installed.add(of_its_file.parents[1])
    for folder in installed:
        yield from (folder / name for name in EXPOSED["interpreter"])
    for name in ("stdlib", "platstdlib", "include"):
        yield Path(sysconfig.get_path(name, vars=INSTALLED_IN))

    for folder in {Path(sys.prefix), Path(sys.exec_prefix)}:
        yield from (folder / name for name in EXPOSED["environment"])
    yield from map(Path, site.getsitepackages())


INSIDE = Path(__file__).parent / "inside"
FRAMING = Path(framing.__file__)
ENVIRONMENT: dict[str, str] = {"PATH": f"{sys.prefix}/bin:/usr/bin:/bin"} | EXPOSED["variables"]
HOME = ENVIRONMENT["HOME"]
START = "import sys; sys.path[0] = '/run/fork_server'; from inside.fork_server import main; main()"
UNKNOWN_MACHINE = (
    "The sandbox does not know the system calls of this machine ({machine}), and cannot refuse the "
    "dangerous ones: grade on {known} with a 64-bit Python."
)
ONLY_ON_LINUX = "The sandbox needs Linux; this is {system}."
INSTALL = (
    "The sandbox needs bubblewrap, and there is no `bwrap` on this machine: install the package "
    "`bubblewrap` (apt-get install bubblewrap, dnf install bubblewrap)."
)
NOT_PERMITTED = (
    "bubblewrap is installed but may not start here ({reason}): allow user namespaces "
    "(sysctl -w user.max_user_namespaces=15000; on Ubuntu also "
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it with them allowed)."
)
LEARNERS_HALF = "nbjudge.tutor.learner"  # all that notebooks see of nbjudge: they import `check` from it
NOT_FOUND = (
    "c.RunAndJudge.exposed_modules names the module {name!r}, which this Python cannot find: install it, "
    "or take its name out of nbgrader_config.py."
)


@cache
def sandbox_refusal() -> str | None:
    """Return why this machine cannot make a sandbox and what to do, in a sentence; None if it can."""
    if sys.platform != "linux":
        return ONLY_ON_LINUX.format(system=sys.platform)
    from nbjudge.sandbox.inside.filter import MACHINES  # it needs Linux, too

    if platform.machine() not in MACHINES or sys.maxsize < 2**32:
        machine = platform.machine() + ("" if sys.maxsize > 2**32 else ", 32-bit Python")
        return UNKNOWN_MACHINE.format(machine=machine, known=" or ".join(MACHINES))
    if shutil.which("bwrap") is None:
        return INSTALL
    tried = subprocess.run([*_bwrap_args(()), "true"], capture_output=True, text=True, timeout=30)
    if tried.returncode == 0:
        return None
    reason = (tried.stderr.strip().splitlines() or [f"it ended with status {tried.returncode}"])[-1]
    return NOT_PERMITTED.format(reason=reason.removeprefix("bwrap: ")[:200])


def command(requests: int, modules: Sequence[str], exposed_modules: Sequence[str] = ()) -> list[str]:
    """Return the command that starts a fork server.

    Parameters
    ----------
    requests
        The descriptor of the socket from which it reads requests.
    modules
        The modules that it imports.
    exposed_modules
        The modules of the course that the sandbox exposes.

    Raises
    ------
    CourseError
        If a helper does not exist.
    """
    inside = ["--ro-bind", str(INSIDE), "/run/fork_server/inside"]
    inside += ["--ro-bind", str(FRAMING), "/run/fork_server/inside/framing.py"]
    program = [str(INTERPRETER), "-B", "-c", START, str(requests), *modules]
    return [*_bwrap_args(inside, exposed_modules), *program]


def _bwrap_args(more: Iterable[str], modules: Sequence[str] = ()) -> list[str]:
    arguments = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    arguments += ["--hostname", "sandbox", "--die-with-parent", "--new-session"]
    arguments += ["--cap-drop", "ALL"]
    arguments += [word for name in EXPOSED["privileges"] for word in ("--cap-add", name)]
    arguments += ["--clearenv", *(word for pair in ENVIRONMENT.items() for word in ("--setenv", *pair))]
    # Each kernel gets empty folders in the place of these. They come first, because packages may be in them.
    arguments += ["--tmpfs", "/tmp", "--tmpfs", HOME]
    exposed = exposed_paths()
    arguments += [word for place in exposed for word in _expose(place)]
    for place, target in links_to_the_interpreter().items():
        if not any(map(place.is_relative_to, exposed)):
            arguments += ["--symlink", target, str(place)]
    if folders := import_folders(modules, exposed):
        arguments += ["--setenv", "PYTHONPATH", os.pathsep.join(map(str, folders))]
    arguments += [word for place in module_paths(modules, exposed) for word in _expose(place)]
    arguments += [word for place in hidden_paths(modules, exposed) for word in _hide(place)]
    arguments += ["--tmpfs", "/dev", "--dir", "/dev/shm", "--dir", "/dev/pts"]
    devices = [f"/dev/{name}" for name in EXPOSED["devices"]]
    arguments += [word for device in devices for word in ("--dev-bind", device, device)]
    arguments += ["--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "pts/ptmx", "/dev/ptmx"]
    arguments += ["--remount-ro", "/dev"]
    arguments += ["--tmpfs", "/run", "--dir", "/run/private"]
    arguments += [*more, "--remount-ro", "/run"]
    return [*arguments, "--chdir", HOME, "--proc", "/proc", "--remount-ro", "/"]


def shown_to_students(modules: Sequence[str] = ()) -> list[Path]:
    """Return every folder and file of this machine that student code can read."""
    return [*exposed_paths(), *module_paths(modules, exposed_paths())]


def _expose(place: Path) -> list[str]:
    """Expose a folder or a file read-only, and a link as a link."""
    if place.is_symlink() and place.is_dir() and place.parent == Path("/"):
        return ["--symlink", os.readlink(place), str(place)]
    return ["--ro-bind", str(place), str(place)]


def _hide(place: Path) -> list[str]:
    """Put an empty folder or file in its place, read-only: all kernels of a fork server share it."""
    if place.is_dir():
        return ["--tmpfs", str(place), "--remount-ro", str(place)]
    return ["--ro-bind", "/dev/null", str(place)]


def module_paths(modules: Sequence[str], exposed: Sequence[Path]) -> list[Path]:
    """Return the files and folders of the named modules that are outside of the `exposed` folders.

    Raises CourseError if there is no such module.
    """
    return [place for place in sorted(set(_places(modules))) if not any(map(place.is_relative_to, exposed))]


def hidden_paths(modules: Sequence[str], exposed: Sequence[Path]) -> list[Path]:
    """Return what must be hidden in the `exposed` folders: the rest of those packages and of nbjudge.

    A folder that is exposed under several names is returned under each of them.
    """
    named = set(_places(modules))
    packages = {place.parent for place in named if (place.parent / "__init__.py") in named}
    unnamed = [
        entry
        for package in packages
        for entry in package.iterdir()
        if not any(place.is_relative_to(entry) for place in named)
    ]
    return sorted(_under_all_names(unnamed, exposed))


def import_folders(modules: Sequence[str], exposed: Sequence[Path]) -> list[Path]:
    """Return the folders from which the sandbox's Python must import the named modules.

    Without them, Python would look for an installed copy of the package, which is not exposed.
    """
    files = {Path(_found(name.partition(".")[0])) for name in (LEARNERS_HALF, *modules)}
    folders = {file.parents[1] if file.name == "__init__.py" else file.parent for file in files}
    return [folder for folder in sorted(folders) if not any(map(folder.is_relative_to, exposed))]


def _places(modules: Sequence[str]) -> Iterator[Path]:
    """The file of each module (of a package, its folder), and `__init__.py` of the packages around it.

    With those of the learner's half of the tutor.
    """
    for name in (LEARNERS_HALF, *modules):
        yield from (Path(_found(package)) for package in accumulate(name.split(".")[:-1], "{}.{}".format))
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
