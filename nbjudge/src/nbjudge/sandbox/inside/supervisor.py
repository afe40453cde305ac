"""The supervisor of one kernel, and the last steps of the kernel's own process before student code runs.

The supervisor gives the kernel namespaces of its own, enforces its limits, and ends with it. It is forked
from the fork server and forks the kernel. The kernel is the first process of a new process namespace: it
sees neither the supervisor nor other kernels, and all processes that it started end with it.
"""

import ast
import fcntl
import json
import os
import random
import re
import resource
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from . import system
from .filter import install_seccomp_filter
from .limits import TotalLimitEnforcer, sizes_in
from .messages import KernelLimits, KernelRequest, Report
from .relay import run_relay

KERNEL_SOCKETS = "/run/kernel"
ALL_SOCKETS = "/run/sockets"
PRIVATE = "/run/private"
REMOUNT_READ_ONLY = system.REMOUNT | system.BIND | system.READ_ONLY | system.NO_SET_UID | system.NO_DEVICES
TERMINALS = 32  # of a few thousand that the machine has for all users
RELAY_NICENESS = 5
# <linux/sockios.h>, <net/if.h>
_SET_FLAGS, _UP = 0x8914, 1
T = TypeVar("T")
NAMESPACES = system.NEW_MOUNTS | system.NEW_PIDS | system.NEW_IPC | system.NEW_UTS | system.NEW_NETWORK


def supervise(grader: socket.socket, relay: socket.socket, request_file: int) -> None:
    """Start a kernel and its relay, enforce the kernel's limits, and return when it has ended.

    The relay is forked first, outside the namespaces of the kernel, and ends with the supervisor.

    Parameters
    ----------
    grader
        Where the supervisor reports the start and the end of the kernel.
    relay
        The relay's end of the channel to the grader.
    request_file
        The descriptor of the request, a file of JSON.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    system.die_with_parent(signal.SIGKILL)
    try:
        request = content_of(request_file, KernelRequest)
        if os.fork() == 0:
            become_relay(grader, relay, request.relay_connection)
        relay.close()
        system.unshare(NAMESPACES)
        bring_up_loopback()
        make_private_folders(request.limits.disk)
        show_own_sockets_only(request.sockets)
        os.mkdir(request.folder)
        enforcer = TotalLimitEnforcer(request.limits)
        kernel = os.fork()
        if kernel == 0:
            become_kernel(grader, request)
        wait_for_sockets(kernel, request.connection, grader)
        # From here on the kernel can connect its sockets but put nothing beside them.
        system.mount("none", KERNEL_SOCKETS, flags=REMOUNT_READ_ONLY)
        grader.send(Report("ready").packed())
        # A kernel is started before it is needed; the files of its notebook follow.
        _, files, _, _ = socket.recv_fds(grader, 16, 1)
        if not files:  # the kernel is not needed any more
            return
        write_files(Path(request.folder), content_of(files[0], dict[bytes, bytes]))
        grader.send(Report("filled").packed())
        reason = enforcer.enforce(kernel)
    except Exception as error:
        with suppress(OSError):  # the grader has closed its end
            grader.send(Report("failed", f"{type(error).__name__}: {error}").packed())
        return
    with suppress(OSError):
        grader.send(Report("ended", reason).packed())


def bring_up_loopback() -> None:
    """Let 127.0.0.1 answer in a network namespace that is new. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))


def become_relay(grader: socket.socket, relay: socket.socket, connection: dict[str, str | int]) -> NoReturn:
    """Turn this fork into the relay, which reads what the kernel sends, without any privilege."""
    try:
        grader.close()
        system.die_with_parent(signal.SIGKILL)
        os.nice(RELAY_NICENESS)  # reading a flood must not slow down other kernels
        system.drop_all_privileges()
        run_relay(relay, connection)
    finally:
        os._exit(1)


def content_of(file: int, kind: type[T]) -> T:
    """Return what a file of JSON holds."""
    with os.fdopen(file, "rb") as stream:
        return msgspec.json.decode(stream.read(), type=kind)


def make_private_folders(size: int) -> None:
    """Mount empty home, /tmp and /dev/shm folders, in memory and within one size limit."""
    system.mount("none", "/", flags=system.PRIVATE | system.RECURSIVE)
    options = f"size={size},nr_inodes=20000,mode=755"
    system.mount("tmpfs", PRIVATE, "tmpfs", system.NO_SET_UID | system.NO_DEVICES, options)
    for name, place in (("home", os.environ["HOME"]), ("tmp", "/tmp"), ("shm", "/dev/shm")):
        os.makedirs(f"{PRIVATE}/{name}")
        exposed = {below: os.open(below, os.O_PATH) for below in mounts_below(place)}
        system.mount(f"{PRIVATE}/{name}", place, flags=system.BIND)
        for below, descriptor in exposed.items():
            mount_again(below, descriptor)
        # A folder of which single files are exposed must take no others.
        for folder in {os.path.dirname(below) for below in exposed if os.path.isfile(below)}:
            system.mount(folder, folder, flags=system.BIND | system.RECURSIVE)
            system.mount("none", folder, flags=REMOUNT_READ_ONLY)
    # Terminals of its own: `!ls` in a cell opens one.
    options = f"newinstance,ptmxmode=0666,mode=600,max={TERMINALS}"
    system.mount("devpts", "/dev/pts", "devpts", system.NO_SET_UID, options)


def mounts_below(place: str) -> list[str]:
    """The mounts inside a folder: packages, if they are installed in a folder of /tmp."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return sorted(point for point in points if point.startswith(f"{place}/"))


def mount_again(place: str, descriptor: int) -> None:
    """Mount at `place` what was there before another mount covered it, as read-only as it was."""
    source = f"/proc/self/fd/{descriptor}"
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    elif not os.path.exists(place):  # in a folder that was mounted again, and is read-only, it does
        os.makedirs(os.path.dirname(place), exist_ok=True)
        Path(place).touch()
    system.mount(source, place, flags=system.BIND)
    os.close(descriptor)


def show_own_sockets_only(name: str) -> None:
    """Expose the folder of this kernel's sockets, and hide those of all other kernels."""
    system.mount(f"{ALL_SOCKETS}/{name}", KERNEL_SOCKETS, flags=system.BIND)
    system.mount("tmpfs", ALL_SOCKETS, "tmpfs", system.READ_ONLY, "size=4k")


def write_files(folder: Path, files: dict[bytes, bytes]) -> None:
    """Write the assignment's files and the student's own into the work folder."""
    for name, content in files.items():
        path = folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def wait_for_sockets(kernel: int, connection: dict[str, str | int], grader: socket.socket) -> None:
    """Wait until the kernel's sockets exist. Raises RuntimeError if the kernel ends or is not needed."""
    ports = (port for name, port in connection.items() if name.endswith("_port"))
    wanted = [f"{connection['ip']}-{port}" for port in ports]
    while not all(map(os.path.exists, wanted)):
        if os.waitpid(kernel, os.WNOHANG) != (0, 0):
            raise RuntimeError("the kernel ended before it was ready")
        if is_closed(grader):  # the folder of the sockets may be removed as well
            raise RuntimeError("the kernel is not needed any more")
        time.sleep(0.002)


def is_closed(grader: socket.socket) -> bool:
    """Return whether the grader has closed its end."""
    try:
        return not grader.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False


# The system also counts the fork server, supervisors and the threads of the next kernel.
OTHER_PROCESSES = 32
# Bytes of addresses for a thread's stack and malloc's arena; most of them are never used.
ADDRESSES_PER_THREAD = 80 * 2**20
LOCKED_MEMORY = 64 * 2**10  # bytes
PENDING_SIGNALS = 1000
LONGEST_ERROR_TEXT = 20_000  # characters of its message, and of each entry of its traceback
# `!ls`, `name?`, `%magic`, `/call`, `,quote`, `;quote` and `name = %magic`, as IPython reads them.
OWN_SYNTAX = re.compile(r"[!?](?!=)|^\s*[%/,;]|=\s*%")
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
        # This process's namespace, whose switches can still be set.
        system.mount("proc", "/proc", "proc", system.NO_SET_UID | system.NO_DEVICES)
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
    is valid Python, and most cells hold no character that it could begin or end with.
    """
    transform = transformers.do_token_transforms

    def transform_if_not_python(lines: list[str]) -> list[str]:
        may_be = any(map(OWN_SYNTAX.search, lines))
        return transform(lines) if may_be and not is_plain_python("".join(lines)) else lines

    transformers.do_token_transforms = transform_if_not_python


def is_plain_python(source: str) -> bool:
    """Return whether Python parses the source; False also where it would warn, as the cell itself will."""
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
