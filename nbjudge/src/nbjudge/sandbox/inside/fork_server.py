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
from io import BytesIO
from pathlib import Path

from . import system
from .kernel import make_kernel
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
    for name in (*KERNEL_MODULES, *sys.argv[2:]):
        with suppress(ImportError):  # without it a kernel is only slower
            importlib.import_module(name)
    app = make_kernel()
    rehearse()
    os.sched_setaffinity(0, all_processors)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        # Printed before the socket closes, which tells the grader that this process has ended.
        reason = f"warming up has started {threads - 1} threads: a fork would lose them"
        print(reason, file=sys.stderr, flush=True)
        raise SystemExit(1)
    system.let_others_look(False)
    with suppress(OSError):  # no more user namespaces, in which student code would have capabilities again
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are not waited for
    # All kernels share the memory of these objects, so the garbage collector must not write to them. One in
    # twenty is garbage, and looking for it would take a tenth of the start.
    gc.freeze()
    gc.enable()
    while True:
        _, descriptors, _, _ = socket.recv_fds(requests, 16, 3)
        if not descriptors:
            return
        grader, relay, request = descriptors
        if os.fork() == 0:
            requests.close()
            supervise(app, socket.socket(fileno=grader), socket.socket(fileno=relay), request)
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def rehearse() -> None:
    """Do once what every notebook does first: libraries load and build much at their first use.

    Only those that are imported already; one that fails is a slower kernel, no error. Nothing that a library
    keeps for its user (random states, open figures, settings) may be left changed.
    """
    for library, first_use in (
        ("matplotlib.figure", draw_a_figure),
        ("torch", compute),
        ("torch", seed_no_accelerator),
    ):
        if library in sys.modules:
            with suppress(Exception):
                first_use()


def draw_a_figure() -> None:
    """A figure as notebooks show it, drawn past pyplot, which would remember it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # ipykernel brings it, and shows figures with it.
    importlib.import_module("matplotlib_inline.backend_inline")
    figure = Figure(figsize=(2, 2))
    FigureCanvasAgg(figure)
    line, grid = figure.subplots(1, 2)
    line.plot([0, 1], label="$x$")
    line.legend()
    line.set_title("bold", weight="bold")
    if "seaborn" in sys.modules:
        sys.modules["seaborn"].heatmap([[0.0, 1.0], [1.0, 0.0]], annot=True, ax=grid)
    figure.savefig(BytesIO(), format="png", bbox_inches="tight")
    registry = importlib.import_module("matplotlib.backends.registry")  # since matplotlib 3.9
    registry.backend_registry.list_all()  # this reads the entry points of all packages


def compute() -> None:
    """No backward pass: torch forbids one in forks of a process that has made one."""
    import torch
    import torch._subclasses.schema_check_mode

    for kind in (torch.float32, torch.float64):
        square = torch.ones(8, 8, dtype=kind)
        product = torch.exp(square @ square / 8)
        torch.einsum("ij,kjl->kil", product, square.expand(2, 8, 8).contiguous())
        torch.nn.functional.linear(product, square).std()
        str(product)
    torch.frombuffer(bytearray(square.numpy().tobytes()), dtype=square.dtype)


def seed_no_accelerator() -> None:
    """Let `torch.manual_seed` seed the processor's generator only: the sandbox has no other device.

    For each kind of device that is not there yet, torch keeps the seed with the formatted stack of the call,
    for as long as the process lives. Seeding takes longer than drawing then.
    """
    import torch

    def manual_seed_all(seed: int) -> None:
        """Do nothing, because there is no device of this kind."""

    for name in ("cuda", "xpu", "mtia"):
        if hasattr(torch, name):
            getattr(torch, name).manual_seed_all = manual_seed_all
