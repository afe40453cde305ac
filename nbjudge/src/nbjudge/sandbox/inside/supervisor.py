"""The supervisor of one kernel: gives it namespaces of its own, enforces its limits, and ends with it.

The supervisor is forked from the fork server and forks the kernel. The kernel is the first process of a new
process namespace: it sees neither the supervisor nor other kernels, and all processes that it started end
with it.
"""

import fcntl
import os
import signal
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from . import system
from .kernel import become_kernel
from .limits import TotalLimitEnforcer
from .messages import KernelRequest, Report
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
    """What a file of JSON holds."""
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
    """Whether the grader has closed its end."""
    try:
        return not grader.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
