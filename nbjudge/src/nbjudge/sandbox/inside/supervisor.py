"""The keeper of one kernel: gives it a world of its own, watches what it takes, ends with it.

The keeper is forked from the fork server and forks the kernel, which is the first process
of a new process namespace: it sees neither the keeper nor anyone else, and all that it started
ends with it.
"""

import base64
import json
import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from . import system
from .kernel import become_kernel
from .network import bring_up_loopback
from .relay import run_relay
from .watch import Watch

KERNEL_SOCKETS = "/run/kernel"
ALL_SOCKETS = "/run/sockets"
PRIVATE = "/run/private"
READ_ONLY_AGAIN = system.REMOUNT | system.BIND | system.READ_ONLY | system.NO_SET_UID | system.NO_DEVICES
CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
TERMINALS = 32  # the machine has a few thousand, for everybody
NICER = 5  # than whoever grades
NAMESPACES = system.NEW_MOUNTS | system.NEW_PIDS | system.NEW_IPC | system.NEW_UTS | system.NEW_NETWORK


def keep(channel: socket.socket, wire: socket.socket, request_file: int) -> None:
    """Start the kernel that a request asks for, report on `channel`, and stay until it has ended.

    Its reader, with the judge at the other end of `wire`, is begun first: outside the namespaces that
    the kernel gets. It ends with the keeper.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    system.die_with_parent(signal.SIGKILL)
    try:
        request = content_of(request_file)
        if os.fork() == 0:
            become_reader(channel, wire, request["relay_connection"])
        wire.close()
        system.unshare(NAMESPACES)
        bring_up_loopback()
        make_private_folders(request["limits"]["disk"])
        show_own_sockets_only(request["sockets"])
        os.mkdir(request["folder"])
        watch = Watch(request["limits"])
        kernel = os.fork()
        if kernel == 0:
            become_kernel(channel, request)
        wait_for_sockets(kernel, request["connection"], channel)
        # From here on the kernel can connect its sockets but put nothing beside them.
        system.mount("none", KERNEL_SOCKETS, flags=READ_ONLY_AGAIN)
        channel.send(b"ready")
        # A kernel is begun before it is needed; whoever takes it says what its work folder holds.
        said, files, _, _ = socket.recv_fds(channel, 16, 1)
        if said != b"files":  # nobody needs it any more
            return
        write_files(Path(request["folder"]), content_of(*files))
        channel.send(b"filled")
        reason = watch.until_the_end_of(kernel)
    except Exception as error:
        with suppress(OSError):  # nobody listens
            channel.send(f"failed: {type(error).__name__}: {error}"[:2000].encode())
        return
    with suppress(OSError):
        channel.send(f"ended: {reason}".encode())


def become_reader(channel: socket.socket, wire: socket.socket, connection: dict[str, Any]) -> NoReturn:
    """Turn this fork into the process that reads what the kernel sends, without any privilege."""
    try:
        channel.close()
        system.die_with_parent(signal.SIGKILL)
        os.nice(NICER)  # a flood that it reads costs others no more than one that it does not
        system.drop_all_privileges()
        run_relay(wire, connection)
    finally:
        os._exit(1)


def content_of(file: int) -> Any:
    with os.fdopen(file) as stream:
        return json.load(stream)


def make_private_folders(size: int) -> None:
    """Home, /tmp and /dev/shm, empty, in memory, and of one limited size together."""
    system.mount("none", "/", flags=system.PRIVATE | system.RECURSIVE)
    options = f"size={size},nr_inodes=20000,mode=755"
    system.mount("tmpfs", PRIVATE, "tmpfs", system.NO_SET_UID | system.NO_DEVICES, options)
    for name, place in (("home", os.environ["HOME"]), ("tmp", "/tmp"), ("shm", "/dev/shm")):
        os.makedirs(f"{PRIVATE}/{name}")
        shown = {below: os.open(below, os.O_PATH) for below in mounts_below(place)}
        system.mount(f"{PRIVATE}/{name}", place, flags=system.BIND)
        for below, held in shown.items():
            show_again(below, held)
        # A folder that is shown file by file takes no others.
        for folder in {os.path.dirname(below) for below in shown if os.path.isfile(below)}:
            system.mount(folder, folder, flags=system.BIND | system.RECURSIVE)
            system.mount("none", folder, flags=READ_ONLY_AGAIN)
    # Terminals of its own: `!ls` in a cell asks for one.
    options = f"newinstance,ptmxmode=0666,mode=600,max={TERMINALS}"
    system.mount("devpts", "/dev/pts", "devpts", system.NO_SET_UID, options)


def mounts_below(place: str) -> list[str]:
    """What is mounted inside a folder: packages, where they are installed in somebody's /tmp."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return sorted(point for point in points if point.startswith(f"{place}/"))


def show_again(place: str, held: int) -> None:
    """Show at `place` what was there before something was mounted over it, as read-only as it was."""
    source = f"/proc/self/fd/{held}"
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        Path(place).touch()
    system.mount(source, place, flags=system.BIND)
    os.close(held)


def show_own_sockets_only(name: str) -> None:
    """The folder of this kernel's sockets, and an empty place where those of all kernels are."""
    system.mount(f"{ALL_SOCKETS}/{name}", KERNEL_SOCKETS, flags=system.BIND)
    system.mount("tmpfs", ALL_SOCKETS, "tmpfs", system.READ_ONLY, "size=4k")


def write_files(folder: Path, files: dict[str, str]) -> None:
    """The notebook's work folder: the assignment's given files and the student's own."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(base64.b64decode(content))


def wait_for_sockets(kernel: int, connection: dict[str, Any], channel: socket.socket) -> None:
    wanted = [f"{connection['ip']}-{connection[channel + '_port']}" for channel in CHANNELS]
    while not all(map(os.path.exists, wanted)):
        if os.waitpid(kernel, os.WNOHANG) != (0, 0):
            raise RuntimeError("the kernel ended before it was ready")
        if is_closed(channel):  # and with it the folder of the sockets may be gone
            raise RuntimeError("nobody needs the kernel any more")
        time.sleep(0.002)


def is_closed(channel: socket.socket) -> bool:
    """Whether the grader has closed its end."""
    try:
        return not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
