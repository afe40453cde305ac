"""The kernel's process: the last steps before student code runs, which student code cannot undo."""

import ast
import json
import os
import random
import re
import resource
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from . import system
from .filter import install_seccomp_filter
from .limits import sizes_in
from .messages import KernelLimits, KernelRequest, Report

# The system also counts the fork server, supervisors and the threads of the next kernel.
OTHER_PROCESSES = 32
# Bytes of addresses for a thread's stack and malloc's arena; most of them are never used.
ADDRESSES_PER_THREAD = 80 * 2**20
LOCKED_MEMORY = 64 * 2**10  # bytes
PENDING_SIGNALS = 1000
LONGEST_ERROR_TEXT = 20_000  # characters of its message, and of each entry of its traceback
UNUSUAL_ESCAPE = re.compile(r"""\\[^\\'"abfnrtvx\n]""")  # one that Python may warn about when it parses it

# The switches of the machine in /proc.
SWITCHES = ("sys", "sysrq-trigger", "irq", "bus")
# The grader's keys, and what is in the machine's memory. Where the grader runs as root, its user is
# the machine's root inside, too, if one without privileges; and these files ask for the user.
OTHERS = (
    *("keys", "key-users", "kmsg", "kcore", "kallsyms", "iomem", "ioports"),
    *("kpagecgroup", "kpagecount", "kpageflags", "pagetypeinfo", "slabinfo", "vmallocinfo"),
    *("latency_stats", "sched_debug", "timer_list", "timer_stats"),
)
# The least, the usual and the most that a connection's buffers hold: as much as other sockets'.
_BUFFERS = {"tcp_rmem": "4096 131072 212992", "tcp_wmem": "4096 16384 212992"}


def become_kernel(grader: socket.socket, request: KernelRequest) -> NoReturn:
    """Turn this fork of the supervisor into an ordinary ipykernel without any privilege."""
    try:
        grader.send(Report("started").packed())  # the grader reads the sender's pid from the socket
        grader.close()
        system.die_with_parent(signal.SIGKILL)
        mount_own_proc()
        if request.processor is not None:
            os.sched_setaffinity(0, {request.processor})
        limit_buffers()
        cover_what_is_not_its_own()  # the last thing that needs a privilege
        set_resource_limits(request.limits)
        system.drop_all_privileges()
        system.let_others_look(True)  # giving up privileges has forbidden it; the filter keeps it allowed
        install_seccomp_filter()
        drop_inherited_state()
        os.chdir(request.folder)
        connection = Path(os.environ["HOME"]) / ".kernel.json"
        connection.write_text(json.dumps(request.connection))
        run_kernel(str(connection))
    except BaseException:
        import traceback

        traceback.print_exc(file=sys.__stderr__)
        os._exit(1)
    os._exit(0)


def mount_own_proc() -> None:
    """Show this process's namespace in /proc, whose switches can still be set."""
    system.mount("proc", "/proc", "proc", system.NO_SET_UID | system.NO_DEVICES)


def cover_what_is_not_its_own() -> None:
    """Make the machine's switches read-only and everybody else's files empty."""
    flags = system.BIND | system.NO_SET_UID | system.NO_DEVICES
    for place in _there(SWITCHES):
        system.mount(place, place, flags=system.BIND)
        system.mount("none", place, flags=flags | system.REMOUNT | system.READ_ONLY)
    for place in _there(OTHERS):
        system.mount(os.devnull, place, flags=system.BIND)


def _there(names: tuple[str, ...]) -> list[str]:
    return [place for name in names if os.path.exists(place := f"/proc/{name}")]


def limit_buffers() -> None:
    """Keep the buffers of connections small, because they are not counted. Needs a writable /proc/sys."""
    for name, sizes in _BUFFERS.items():
        with suppress(OSError):  # an old system, which has them for all networks together
            Path(f"/proc/sys/net/ipv4/{name}").write_text(sizes)


def set_resource_limits(limits: KernelLimits) -> None:
    """Set the limits of each process; the supervisor enforces those of all together."""
    at_start = sizes_in("/proc/self/status")
    reserved = limits.processes * ADDRESSES_PER_THREAD
    for what, limit in (
        (resource.RLIMIT_DATA, at_start["VmData"] + limits.memory),
        (resource.RLIMIT_AS, at_start["VmSize"] + limits.memory + reserved),
        (resource.RLIMIT_NPROC, limits.processes + OTHER_PROCESSES),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_CORE, 0),
        # These are counted per user, and so for all notebooks of a class together.
        (resource.RLIMIT_MEMLOCK, LOCKED_MEMORY),
        (resource.RLIMIT_SIGPENDING, PENDING_SIGNALS),
        (resource.RLIMIT_MSGQUEUE, 0),
        # No higher priority, even if the account may have one.
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_RTPRIO, 0),
    ):
        _, allowed = resource.getrlimit(what)
        limit = limit if allowed == resource.RLIM_INFINITY else min(limit, allowed)
        resource.setrlimit(what, (limit, limit))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # too large a file is an error, not a death
    prefer_for_oom_killer()


def prefer_for_oom_killer() -> None:
    """If the machine runs out of memory, let the system end this process before any other.

    The /proc files of a process that may not be traced belong to the machine's root. No other process is in
    this process's namespace to trace it meanwhile.
    """
    system.let_others_look(True)
    Path("/proc/self/oom_score_adj").write_text("1000")
    system.let_others_look(False)


def drop_inherited_state() -> None:
    """Drop what belongs to the supervisor: descriptors, random states, its own modules."""
    silent = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silent, standard)
    os.closerange(3, 4096)
    os.setsid()
    os.nice(5)  # its supervisor comes first
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
    """Run ipykernel as `python -m ipykernel_launcher -f connection` does, with its imports already done."""
    from ipykernel.kernelapp import IPKernelApp

    app = IPKernelApp.instance()
    app.initialize(["-f", connection, "--HistoryManager.enabled=False", "--no-secure"])
    shell: Any = app.shell
    leave_plain_python(shell.input_transformer_manager)
    send_what_is_read(app.session)
    for stream in (sys.stdout, sys.stderr):
        flush_what_was_written(stream)
    # These look for a shell when they are imported, which was before there was one.
    if "matplotlib.pyplot" in sys.modules:
        shell.enable_matplotlib("inline")
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].load_ipython_extension(shell)
    app.start()


def leave_plain_python(transformers: Any) -> None:
    """Have IPython look for its own syntax, such as `%time`, only in cells that are not plain Python.

    It tokenizes each cell in Python for this, which takes longer than most cells run. None of its own syntax
    is valid Python.
    """
    transform = transformers.do_token_transforms

    def transform_if_not_python(lines: list[str]) -> list[str]:
        return lines if is_plain_python("".join(lines)) else transform(lines)

    transformers.do_token_transforms = transform_if_not_python


def is_plain_python(source: str) -> bool:
    """Whether Python parses the source; False also where it could warn, because the cell itself will."""
    if UNUSUAL_ESCAPE.search(source):
        return False
    try:
        ast.parse(source)
    except Exception:  # a syntax error, or too deeply nested
        return False
    return True


def flush_what_was_written(stream: Any) -> None:
    """Have ipykernel flush a stream only if something was written to it.

    It flushes both streams several times for each request, and each time waits for its other thread.
    """
    flush = stream.flush

    def flush_if_written() -> None:
        if stream._buffers:
            flush()

    stream.flush = flush_if_written


def send_what_is_read(session: Any) -> None:
    """Have the kernel send only what the relay reads, and only the beginning of an error's texts.

    The relay reads neither that the kernel is busy nor the cell that it has sent. An error is sent four times
    per cell. If it is too large, the relay disconnects and the reply is lost. Student code can undo this, and
    then loses only its own reply.
    """
    send = session.send

    def send_if_read(stream: Any, kind: Any, content: Any = None, *args: Any, **options: Any) -> Any:
        if kind == "execute_input" or (kind == "status" and content == {"execution_state": "busy"}):
            return None
        if kind in ("error", "execute_reply") and isinstance(content, dict):
            content = short_error(content)
            expressions = content.get("user_expressions")
            if isinstance(expressions, dict):
                content["user_expressions"] = {
                    name: short_error(value) if isinstance(value, dict) else value
                    for name, value in expressions.items()
                }
        return send(stream, kind, content, *args, **options)

    session.send = send_if_read


def short_error(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with the texts of its error cut, if it has one."""

    def cut(text: Any) -> Any:
        return text[:LONGEST_ERROR_TEXT] if isinstance(text, str) else text

    changed = {"evalue": cut(content["evalue"])} if "evalue" in content else {}
    if isinstance(content.get("traceback"), list):
        changed["traceback"] = [cut(line) for line in content["traceback"]]
    return content | changed
