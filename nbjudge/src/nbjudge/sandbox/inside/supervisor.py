"""The supervisor of one kernel, and the last steps of the kernel's own process before student code runs.

The supervisor gives the kernel namespaces of its own, enforces its limits, and ends with it. It is forked
from the fork server and forks the kernel. The kernel is the first process of a new process namespace: it
sees neither the supervisor nor other kernels, and all processes that it started end with it.
"""

import fcntl
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from . import system
from .filter import install_seccomp_filter
from .kernel import KernelApp
from .limits import TotalLimitEnforcer, sizes_in
from .messages import KernelLimits, KernelRequest, Report
from .relay import SocketRelay, run

PRIVATE = "/run/private"
REMOUNT_READ_ONLY = system.REMOUNT | system.BIND | system.READ_ONLY | system.NO_SET_UID | system.NO_DEVICES
TERMINALS = 32  # of a few thousand that the machine has for all users
RELAY_NICENESS = 5
# <linux/sockios.h>, <net/if.h>
_SET_FLAGS, _UP = 0x8914, 1
T = TypeVar("T")
NAMESPACES = system.NEW_MOUNTS | system.NEW_PIDS | system.NEW_IPC | system.NEW_UTS | system.NEW_NETWORK


def supervise(app: KernelApp, grader: socket.socket, relay: socket.socket, request_file: int) -> None:
    """Start a kernel and its relay, enforce the kernel's limits, and return when it has ended.

    The relay is forked first, outside the namespaces of the kernel, and ends with the supervisor.

    Parameters
    ----------
    app
        The kernel that is forked.
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
        kernel_end, relay_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            kernel_end.close()
            become_relay(grader, relay, relay_end)
        relay.close()
        relay_end.close()
        system.unshare(NAMESPACES)
        bring_up_loopback()
        make_private_folders(request.limits.disk)
        os.mkdir(request.folder)
        enforcer = TotalLimitEnforcer(request.limits)
        kernel = os.fork()
        if kernel == 0:
            become_kernel(app, grader, request, kernel_end)
        kernel_end.close()
        # A kernel is started before it is needed; the files of its notebook follow.
        wait_for_files(grader, kernel)
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


def become_relay(grader: socket.socket, relay: socket.socket, kernel: socket.socket) -> NoReturn:
    """Turn this fork into the relay, which reads what the kernel sends, without any privilege."""
    try:
        grader.close()
        system.die_with_parent(signal.SIGKILL)
        os.nice(RELAY_NICENESS)  # reading a flood must not slow down other kernels
        system.drop_all_privileges()
        run(lambda: SocketRelay(relay, kernel))
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


def wait_for_files(grader: socket.socket, kernel: int) -> None:
    """Wait until the grader sends them, or ends. Raises RuntimeError if the kernel ends before."""
    descriptor = os.pidfd_open(kernel)
    ready, _, _ = select.select([grader.fileno(), descriptor], [], [])
    os.close(descriptor)
    if grader.fileno() not in ready:
        raise RuntimeError("the kernel ended before it was ready")


def write_files(folder: Path, files: dict[bytes, bytes]) -> None:
    """Write the assignment's files and the student's own into the work folder."""
    for name, content in files.items():
        path = folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


# The system also counts the fork server, supervisors and the threads of the next kernel.
OTHER_PROCESSES = 32
# Bytes of addresses for a thread's stack and malloc's arena; most of them are never used.
ADDRESSES_PER_THREAD = 80 * 2**20
LOCKED_MEMORY = 64 * 2**10  # bytes
PENDING_SIGNALS = 1000

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


def become_kernel(
    app: KernelApp, grader: socket.socket, request: KernelRequest, wire: socket.socket
) -> NoReturn:
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
        drop_inherited_state(wire)
        os.chdir(request.folder)
        app.serve(wire)
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


def drop_inherited_state(wire: socket.socket) -> None:
    """Drop what belongs to the supervisor: descriptors but the wire's, random states, its own modules."""
    silent = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silent, standard)
    os.closerange(3, wire.fileno())
    os.closerange(wire.fileno() + 1, 4096)
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
