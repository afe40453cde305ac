"""The fork server: imports what assignments import, once, and forks a kernel for each notebook.

Runs inside bubblewrap as a program of its own and reads requests from an inherited socket. No
student code ever runs in this process; it starts no thread, so that a fork of it is whole.
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
from .supervisor import keep

# Everything a kernel would spend its first seconds on. Assignments' own imports are added by the caller.
KERNEL_MODULES = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.comm.comm",
    "ipykernel.debugger",
    "ipykernel.zmqshell",
    "IPython.core.pylabtools",
    "IPython.core.completer",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.oinspect",
    "faulthandler",
    "IPython.core.magics.execution",
    "IPython.extensions.storemagic",
    "comm",
    "jupyter_client.session",
    "psutil",
    "tornado.platform.asyncio",
    "zmq.asyncio",
    "zmq.eventloop.zmqstream",
)


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    sys.path.remove(str(Path(__file__).parents[1]))
    everywhere = os.sched_getaffinity(0)
    # Libraries prepare for as many processors as there are when they are imported: a kernel gets one.
    os.sched_setaffinity(0, {random.choice(list(everywhere))})
    import_all([*KERNEL_MODULES, *sys.argv[2:]])
    rehearse()
    os.sched_setaffinity(0, everywhere)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise SystemExit(f"warming up has started {threads - 1} threads: a fork would lose them")
    system.let_others_look(False)
    no_more_user_namespaces()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    # What is here now is shared with every kernel: the collector need not write into it.
    gc.collect()
    gc.freeze()
    while True:
        said, descriptors, _, _ = socket.recv_fds(requests, 16, 3)
        if not said:
            return
        channel, wire, request = descriptors
        if os.fork() == 0:
            requests.close()
            keep(socket.socket(fileno=channel), socket.socket(fileno=wire), request)
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def import_all(names: list[str]) -> None:
    """Import what is there; a module that is not installed is a slower kernel, no error."""
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def no_more_user_namespaces() -> None:
    """A new user namespace would give student code capabilities again, if only over itself."""
    with suppress(OSError):
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
