"""The kernel itself: the last steps before student code, none of which it can take back."""

import json
import os
import random
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from . import system
from .filter import refuse_what_outlives_and_hides

# The system counts the warm interpreter, the keepers and the threads of the next kernel as well.
SYSTEMS_SHARE = 32


def become_kernel(channel: socket.socket, request: dict[str, Any]) -> NoReturn:
    """Turn this fork of the keeper into an ordinary ipykernel without any privilege."""
    try:
        channel.send(b"kernel")  # the socket tells the grader which process says so
        channel.close()
        system.die_with_parent(signal.SIGKILL)
        # Its own processes and no others; the last thing that needs a privilege.
        system.mount("proc", "/proc", "proc", system.NO_SET_UID | system.NO_DEVICES)
        cover_the_machines_switches()
        limit(request["limits"])
        system.drop_all_privileges()
        refuse_what_outlives_and_hides()
        system.let_others_look(True)
        leave_the_parents_things()
        os.chdir(request["folder"])
        connection = Path(os.environ["HOME"]) / ".kernel.json"
        connection.write_text(json.dumps(request["connection"]))
        run_kernel(str(connection))
    except BaseException:
        import traceback

        traceback.print_exc(file=sys.__stderr__)
        os._exit(1)
    os._exit(0)


def cover_the_machines_switches() -> None:
    """Make what /proc offers for changing the machine read-only.

    Where the grader runs as root, its user is the machine's root inside, too, if one without
    privileges; and some of these files ask for the user, not for a privilege.
    """
    flags = system.BIND | system.NO_SET_UID | system.NO_DEVICES
    for name in ("sys", "sysrq-trigger", "irq", "bus"):
        place = f"/proc/{name}"
        if os.path.exists(place):
            system.mount(place, place, flags=system.BIND)
            system.mount("none", place, flags=flags | system.REMOUNT | system.READ_ONLY)


def limit(limits: dict[str, int]) -> None:
    """What the system itself holds each process to; the keeper watches their sum."""
    spare = data_in_use()
    for what, most in (
        (resource.RLIMIT_DATA, limits["memory"] + spare),
        (resource.RLIMIT_NPROC, limits["processes"] + SYSTEMS_SHARE),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_FSIZE, limits["file"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # too large a file is an error, not a death
    Path("/proc/self/oom_score_adj").write_text("1000")


def data_in_use() -> int:
    """Bytes of data that this process already holds."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def leave_the_parents_things() -> None:
    """Drop what belongs to the keeper: descriptors, random states, the place of its own code."""
    silent = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silent, standard)
    os.closerange(3, 4096)
    os.setsid()
    os.nice(5)  # whoever watches it comes first
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.seed()
    for name in [name for name in sys.modules if name.split(".")[0] == __package__]:
        del sys.modules[name]
    sys.argv = ["ipykernel_launcher"]
    sys.path.insert(0, "")


def run_kernel(connection: str) -> None:
    """As `python -m ipykernel_launcher -f connection`, but with its imports done."""
    from ipykernel.kernelapp import IPKernelApp

    app = IPKernelApp.instance()
    app.initialize(["-f", connection, "--HistoryManager.enabled=False", "--no-secure"])
    shell: Any = app.shell
    # What looks for a shell when it is imported found none: it was imported before.
    if "matplotlib.pyplot" in sys.modules:
        shell.enable_matplotlib("inline")
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].load_ipython_extension(shell)
    app.start()
