"""The fork server: imports once what notebooks import, and forks a kernel for each notebook.

It runs inside bubblewrap as a program of its own and reads requests from an inherited socket. No student code
runs in this process. It starts no threads, because a fork would lose them.
"""

import gc
import importlib
import os
import random
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from . import system
from .rehearsal import rehearse
from .supervisor import supervise

# What a kernel would import in its first seconds. The caller adds the imports of the notebooks.
KERNEL_MODULES = Path(__file__).with_name("kernel_modules.txt").read_text().split()


def main() -> None:
    """Import everything, and fork a supervisor with its kernel for each request."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # what is imported stays, and looking for garbage in it would take a fifth of the time
    sys.path.remove(str(Path(__file__).parents[1]))
    all_processors = os.sched_getaffinity(0)
    # Some libraries read the number of processors when they are imported; a kernel gets one.
    os.sched_setaffinity(0, {random.choice(list(all_processors))})
    import_all([*KERNEL_MODULES, *sys.argv[2:]])
    rehearse()
    os.sched_setaffinity(0, all_processors)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        # Printed before the socket closes, which tells the grader that this process has ended.
        reason = f"warming up has started {threads - 1} threads: a fork would lose them"
        print(reason, file=sys.stderr, flush=True)
        raise SystemExit(1)
    system.let_others_look(False)
    no_more_user_namespaces()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are not waited for
    # All kernels share the memory of these objects, so the garbage collector must not write to them.
    gc.collect()
    gc.freeze()
    gc.enable()
    while True:
        _, descriptors, _, _ = socket.recv_fds(requests, 16, 3)
        if not descriptors:
            return
        grader, relay, request = descriptors
        if os.fork() == 0:
            requests.close()
            supervise(socket.socket(fileno=grader), socket.socket(fileno=relay), request)
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def import_all(names: list[str]) -> None:
    """Import the modules that are installed; without the others a kernel is only slower."""
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def no_more_user_namespaces() -> None:
    """Forbid new user namespaces, in which student code would have capabilities again."""
    with suppress(OSError):
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
