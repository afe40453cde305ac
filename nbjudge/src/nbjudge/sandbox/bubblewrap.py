"""The command line of bubblewrap: what the fork server and its kernels can see and do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from nbjudge import framing
from nbjudge.sandbox.exposed_modules import exposed_modules, hidden_modules, import_folders
from nbjudge.sandbox.exposed_paths import INTERPRETER, exposed_paths, links_to_the_interpreter
from nbjudge.sandbox.inside import system_calls

HOME = "/home/student"
INSIDE = Path(__file__).parent / "inside"
FRAMING = Path(framing.__file__)
DEVICES = ("null", "full", "random", "urandom")
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
START = "import sys; sys.path[0] = '/run/fork_server'; from inside.fork_server import main; main()"
PRIVILEGES = (
    "CAP_SYS_ADMIN",  # to mount each kernel's private folders
    "CAP_NET_ADMIN",  # to bring up the loopback device of each kernel's own network
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
    """Return why this machine cannot make a sandbox and what to do, in a sentence; None if it can."""
    if sys.platform != "linux":
        return ONLY_ON_LINUX.format(system=sys.platform)
    unknown = system_calls.refusal_of_this_machine()
    if unknown is not None:
        return unknown
    if shutil.which("bwrap") is None:
        return INSTALL
    tried = subprocess.run([*_bwrap_args(()), "true"], capture_output=True, text=True, timeout=30)
    if tried.returncode == 0:
        return None
    reason = (tried.stderr.strip().splitlines() or [f"it ended with status {tried.returncode}"])[-1]
    return NOT_PERMITTED.format(reason=reason.removeprefix("bwrap: ")[:200])


def command(sockets: Path, requests: int, modules: Sequence[str], helpers: Sequence[str] = ()) -> list[str]:
    """Return the command that starts a fork server.

    Parameters
    ----------
    sockets
        The folder for the sockets of its kernels.
    requests
        The descriptor of the socket from which it reads requests.
    modules
        The modules that it imports.
    helpers
        The modules of the course that the sandbox exposes.

    Raises
    ------
    CourseError
        If a helper does not exist.
    """
    inside = ["--ro-bind", str(INSIDE), "/run/fork_server/inside"]
    inside += ["--ro-bind", str(FRAMING), "/run/fork_server/inside/framing.py"]
    inside += ["--bind", str(sockets), "/run/sockets"]
    program = [str(INTERPRETER), "-B", "-c", START, str(requests), *modules]
    return [*_bwrap_args(inside, helpers), *program]


def _bwrap_args(more: Iterable[str], helpers: Sequence[str] = ()) -> list[str]:
    arguments = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    arguments += ["--hostname", "sandbox", "--die-with-parent", "--new-session"]
    arguments += ["--cap-drop", "ALL", *(word for name in PRIVILEGES for word in ("--cap-add", name))]
    arguments += ["--clearenv", *(word for pair in ENVIRONMENT.items() for word in ("--setenv", *pair))]
    # Each kernel gets empty folders in the place of these. They come first, because packages may be in them.
    arguments += ["--tmpfs", "/tmp", "--tmpfs", HOME]
    arguments += [word for place in exposed_paths() for word in _expose(place)]
    for place, target in links_to_the_interpreter().items():
        if not any(map(place.is_relative_to, exposed_paths())):
            arguments += ["--symlink", target, str(place)]
    shown = exposed_paths()
    if folders := import_folders(helpers, shown):
        arguments += ["--setenv", "PYTHONPATH", os.pathsep.join(map(str, folders))]
    arguments += [word for place in exposed_modules(helpers, shown) for word in _expose(place)]
    arguments += [word for place in hidden_modules(helpers, shown) for word in _hide(place)]
    arguments += ["--tmpfs", "/dev", "--dir", "/dev/shm", "--dir", "/dev/pts"]
    arguments += [word for name in DEVICES for word in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")]
    arguments += ["--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "pts/ptmx", "/dev/ptmx"]
    arguments += ["--remount-ro", "/dev"]
    arguments += ["--tmpfs", "/run", "--dir", "/run/kernel", "--dir", "/run/private", "--dir", "/run/sockets"]
    arguments += [*more, "--remount-ro", "/run"]
    return [*arguments, "--chdir", HOME, "--proc", "/proc", "--remount-ro", "/"]


def shown_to_students(helpers: Sequence[str] = ()) -> list[Path]:
    """Return every folder and file of this machine that student code can read."""
    return [*exposed_paths(), *exposed_modules(helpers, exposed_paths())]


def _expose(place: Path) -> list[str]:
    """Expose a folder or a file read-only, and a link as a link."""
    if place.is_symlink() and place.is_dir() and place.parent == Path("/"):
        return ["--symlink", os.readlink(place), str(place)]
    return ["--ro-bind", str(place), str(place)]


def _hide(place: Path) -> list[str]:
    """Put an empty folder or file in its place."""
    return ["--tmpfs", str(place)] if place.is_dir() else ["--ro-bind", "/dev/null", str(place)]
