"""bubblewrap's command line: what the warm interpreter and its kernels can see, and nothing else."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import attention_lab

HOME = "/home/student"
INSIDE = Path(__file__).parent / "inside"
PACKAGE = Path(attention_lab.__file__).parent
NOT_FOR_STUDENTS = ("grading", "demo", "report", "feedback", "exports", "bundle", "site")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Fonts, the time zone and where libraries are; nothing that names the machine or its users.
SETTINGS = ("/etc/ld.so.cache", "/etc/fonts", "/etc/localtime", "/etc/alternatives", "/etc/mime.types")
DEVICES = ("null", "zero", "full", "random", "urandom")
ENVIRONMENT = {
    "HOME": HOME,
    "USER": "student",
    "LANG": "C.UTF-8",
    "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NBGRADER_EXECUTION": "autograde",  # nbgrader says so to notebooks that ask
    # One thread for each kernel: they share the machine, and a fork keeps no threads.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # What a large tensor took goes back to the system with it, not into a heap that only grows.
    "MALLOC_MMAP_THRESHOLD_": "4194304",
}
START = "import sys; sys.path[0] = '/run/warm'; from inside.warm import main; main()"
PRIVILEGES = (
    "CAP_SYS_ADMIN",  # to mount each kernel's private folders
    "CAP_SYS_RESOURCE",  # to forbid further user namespaces
    "CAP_SETPCAP",  # to give all of them up for good
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


@cache
def refusal() -> str | None:
    """Why no sandbox can be made on this machine, in a sentence that names the mend; None if one can."""
    if sys.platform != "linux":
        return ONLY_ON_LINUX.format(system=sys.platform)
    if shutil.which("bwrap") is None:
        return INSTALL
    tried = subprocess.run([*_walls(()), "true"], capture_output=True, text=True, timeout=30)
    if tried.returncode == 0:
        return None
    reason = (tried.stderr.strip().splitlines() or [f"it ended with status {tried.returncode}"])[-1]
    return NOT_PERMITTED.format(reason=reason.removeprefix("bwrap: ")[:200])


def command(sockets: Path, requests: int, modules: Sequence[str]) -> list[str]:
    """The command that starts a warm interpreter which reads requests from the descriptor `requests`."""
    inside = ["--ro-bind", str(INSIDE), "/run/warm/inside", "--bind", str(sockets), "/run/sockets"]
    program = [sys.executable, "-B", "-c", START, str(requests), *modules]
    return [*_walls(inside), *program]


def _walls(more: Iterable[str]) -> list[str]:
    arguments = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    arguments += ["--hostname", "sandbox", "--die-with-parent", "--new-session"]
    arguments += ["--cap-drop", "ALL", *(word for name in PRIVILEGES for word in ("--cap-add", name))]
    arguments += ["--clearenv", *(word for pair in ENVIRONMENT.items() for word in ("--setenv", *pair))]
    # The warm interpreter's own; each kernel gets an empty one over it. First, for packages may lie in them.
    arguments += ["--tmpfs", "/tmp", "--tmpfs", HOME]
    arguments += [word for place in (*SYSTEM, *SETTINGS) for word in _shown(Path(place))]
    arguments += [word for place in _python_folders() for word in ("--ro-bind", str(place), str(place))]
    arguments += _students_helpers()
    arguments += ["--tmpfs", "/dev", "--dir", "/dev/shm", "--dir", "/dev/pts"]
    arguments += [word for name in DEVICES for word in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")]
    arguments += ["--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "pts/ptmx", "/dev/ptmx"]
    arguments += ["--remount-ro", "/dev"]
    arguments += ["--tmpfs", "/run", "--dir", "/run/kernel", "--dir", "/run/private", "--dir", "/run/sockets"]
    arguments += [*more, "--remount-ro", "/run"]
    return [*arguments, "--chdir", HOME, "--proc", "/proc", "--remount-ro", "/"]


def _shown(place: Path) -> list[str]:
    """A part of the system as it is: a folder or file read-only, a link as a link."""
    if place.is_symlink() and place.is_dir() and place.parent == Path("/"):
        return ["--symlink", os.readlink(place), str(place)]
    return ["--ro-bind", str(place), str(place)] if place.exists() else []


def _python_folders() -> list[Path]:
    """The interpreter and its packages, outermost first, without what the system already shows."""
    stated = [sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages()]
    stated += [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    places = {Path(place) for place in stated} | {Path(os.path.realpath(sys.executable)).parent}
    chosen: list[Path] = []
    for place in sorted(filter(Path.is_dir, places)):
        if not any(place.is_relative_to(shown) for shown in (*chosen, *map(Path, SYSTEM))):
            chosen.append(place)
    return chosen


def _students_helpers() -> list[str]:
    """The package as students have it: without the grader, wherever it is installed."""
    arguments = []
    for entry in sorted(PACKAGE.iterdir()):
        if entry.name in (*NOT_FOR_STUDENTS, "__pycache__"):
            continue
        arguments += ["--ro-bind", str(entry), str(entry)]
    shown = [path for path in (*_python_folders(), *map(Path, SYSTEM)) if PACKAGE.is_relative_to(path)]
    if shown:  # installed among the other packages, which are shown whole
        hidden = [PACKAGE / name for name in NOT_FOR_STUDENTS]
        return [word for folder in hidden if folder.is_dir() for word in ("--tmpfs", str(folder))]
    return arguments
