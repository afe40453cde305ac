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
from .filter import install_seccomp_filter
from .memory import sizes_in
from .network import limit_buffers
from .own_proc import cover_what_is_not_its_own, mount_own_proc

# The system counts the fork server, the keepers and the threads of the next kernel as well.
SYSTEMS_SHARE = 32
# Bytes of addresses for a stack and for what malloc sets aside; most of them are never used.
RESERVED_BY_A_THREAD = 80 * 2**20
LOCKED = 64 * 2**10  # bytes that may be kept from being put on disk
WAITING_SIGNALS = 1000
LONGEST_OF_AN_ERROR = 20_000  # characters of its message, and of each entry of its traceback


def become_kernel(channel: socket.socket, request: dict[str, Any]) -> NoReturn:
    """Turn this fork of the keeper into an ordinary ipykernel without any privilege."""
    try:
        channel.send(b"kernel")  # the socket tells the grader which process says so
        channel.close()
        system.die_with_parent(signal.SIGKILL)
        mount_own_proc()
        if request["processor"] != "any":
            os.sched_setaffinity(0, {int(request["processor"])})
        limit_buffers()
        cover_what_is_not_its_own()  # the last thing that needs a privilege
        limit(request["limits"])
        system.drop_all_privileges()
        system.let_others_look(True)  # giving up privileges has forbidden it; the filter keeps it allowed
        install_seccomp_filter()
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


def limit(limits: dict[str, int]) -> None:
    """What the system itself holds each process to; the keeper watches their sum."""
    begun_with = sizes_in("/proc/self/status")
    reserved = limits["processes"] * RESERVED_BY_A_THREAD
    for what, most in (
        (resource.RLIMIT_DATA, begun_with["VmData"] + limits["memory"]),
        (resource.RLIMIT_AS, begun_with["VmSize"] + limits["memory"] + reserved),
        (resource.RLIMIT_NPROC, limits["processes"] + SYSTEMS_SHARE),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_FSIZE, limits["file"]),
        (resource.RLIMIT_CORE, 0),
        # What is counted for a user, and so for all notebooks of a class together.
        (resource.RLIMIT_MEMLOCK, LOCKED),
        (resource.RLIMIT_SIGPENDING, WAITING_SIGNALS),
        (resource.RLIMIT_MSGQUEUE, 0),
        # No account's privilege to come before others.
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_RTPRIO, 0),
    ):
        _, allowed = resource.getrlimit(what)
        most = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        resource.setrlimit(what, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # too large a file is an error, not a death
    be_the_first_to_go()


def be_the_first_to_go() -> None:
    """Where the machine's memory runs out, this process is ended before any other.

    What nobody may look at belongs to the machine's root in /proc, and only a grader who is root could write
    there. Nobody else is in this process's namespace to look meanwhile.
    """
    system.let_others_look(True)
    Path("/proc/self/oom_score_adj").write_text("1000")
    system.let_others_look(False)


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
    shorten_errors(app.session)
    # What looks for a shell when it is imported found none: it was imported before.
    if "matplotlib.pyplot" in sys.modules:
        shell.enable_matplotlib("inline")
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].load_ipython_extension(shell)
    app.start()


def shorten_errors(session: Any) -> None:
    """Have the kernel send the beginning of an error only.

    A message travels four times for one cell. The reader would disconnect, and the reply would be lost.
    Student code can undo this, and then loses its own reply.
    """
    send = session.send

    def send_short_errors(stream: Any, kind: Any, content: Any = None, *args: Any, **options: Any) -> Any:
        if kind in ("error", "execute_reply") and isinstance(content, dict):
            content = short_error(content)
            expressions = content.get("user_expressions")
            if isinstance(expressions, dict):
                content["user_expressions"] = {
                    name: short_error(value) if isinstance(value, dict) else value
                    for name, value in expressions.items()
                }
        return send(stream, kind, content, *args, **options)

    session.send = send_short_errors


def short_error(content: dict[str, Any]) -> dict[str, Any]:
    """The same content; the texts of the error in it, if there is one, are cut."""

    def cut(text: Any) -> Any:
        return text[:LONGEST_OF_AN_ERROR] if isinstance(text, str) else text

    changed = {"evalue": cut(content["evalue"])} if "evalue" in content else {}
    if isinstance(content.get("traceback"), list):
        changed["traceback"] = [cut(line) for line in content["traceback"]]
    return content | changed
