"""The seccomp filter: the system itself refuses the calls that student code must not make.

Not by libseccomp, for no package of PyPI brings that library along, and it has no rule for "every call
newer than these", nor one for "a socket of any family but these".
"""

import ctypes
import errno
import platform
import socket
import struct
import sys
import tomllib
from pathlib import Path

from . import system

# Which system calls student code may not make, and their numbers.
_TABLES = tomllib.loads(Path(__file__).with_name("system_calls.toml").read_text())
MACHINES: dict[str, int] = _TABLES["machines"]  # how seccomp calls them
NEWEST_KNOWN: int = _TABLES["newest_known"]
JUDGED_BY_ARGUMENTS: dict[str, list[int]] = _TABLES["judged_by_arguments"]
_NUMBERS: dict[str, list[int]] = _TABLES["not_implemented"] | _TABLES["not_permitted"] | JUDGED_BY_ARGUMENTS
REFUSED = dict.fromkeys(_TABLES["not_implemented"], errno.ENOSYS)
REFUSED |= dict.fromkeys(_TABLES["not_permitted"], errno.EPERM)


def number_of(call: str, machine: str) -> int | None:
    """A call's number on a machine; None where it has none."""
    numbers, index = _NUMBERS[call], list(MACHINES).index(machine)
    return numbers[index] if index < len(numbers) else None


# <linux/bpf_common.h>: load a word, keep some of its bits, compare, return.
_LOAD, _AND, _EQUAL, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
# <linux/seccomp.h>: what is returned, and where a call's parts lie in struct seccomp_data.
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_LARGEST_OFFSET = 255  # steps that one jump can pass over
_X32 = 0x40000000  # <asm/unistd.h>: from this number on, x86_64 has the same calls a second time

# Sockets by family, and by protocol where the family has several. ZeroMQ, and so every kernel, asks for
# the addresses of its interfaces over netlink's route protocol (0), and aborts where it gets no answer.
SOCKETS: dict[int, tuple[int, ...]] = {
    socket.AF_UNIX: (0, socket.AF_UNIX),
    socket.AF_INET: (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP),
    socket.AF_INET6: (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP),
    socket.AF_NETLINK: (0,),
}
MAP_SHARED, MAP_ANONYMOUS = 0x01, 0x20  # <sys/mman.h>
# <linux/fcntl.h>: a lease holds up everybody else who opens the file, for as long as it takes to break it.
F_SETLEASE, F_NOTIFY = 1024, 1026
# <linux/sched.h>: mounts, cgroups, host name, IPC, users, processes, network.
CLONE_NEW = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
KIND_OF_FILE, CHARACTER_DEVICE, BLOCK_DEVICE = 0o170000, 0o020000, 0o060000  # <sys/stat.h>
SO_SNDBUF, SO_RCVBUF = 7, 8  # <asm-generic/socket.h>
# <linux/prctl.h>: one lets a process hide its use of memory and time, one keeps strangers off the
# sibling of its processor.
PR_SET_DUMPABLE, PR_SCHED_CORE = 4, 62


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def install_seccomp_filter() -> None:
    """Hold this process, and all that it starts, to `system_calls`.

    Raises RuntimeError on a machine whose calls are not known.
    """
    if platform.machine() not in MACHINES or sys.maxsize < 2**32:
        raise RuntimeError("The sandbox does not know the system calls of this machine.")
    steps = program(platform.machine())
    code = ctypes.create_string_buffer(b"".join(steps))
    system.filter_calls(_Program(len(steps), ctypes.addressof(code)))


def program(machine: str) -> list[bytes]:
    """The filter's instructions for a machine.

    A process that calls by other numbers than those of 64-bit programs is ended: nothing honest does, and
    under other numbers the names of `system_calls` would say nothing.
    """
    allow, kill = _step(_RETURN, _ALLOW), _step(_RETURN, _KILL)
    steps = [
        _step(_LOAD, _MACHINE_AT),
        _step(_EQUAL, MACHINES[machine], then=1),
        kill,  # a call of another machine, such as i386 on x86_64
        _step(_LOAD, _NUMBER_AT),
        _step(_GREATER, _X32 - 1, otherwise=1),
        kill,
        _step(_GREATER, NEWEST_KNOWN, otherwise=1),
        _refuse(errno.ENOSYS),
    ]
    for name, error in REFUSED.items():
        steps += _where_called(name, machine, [_refuse(error)])
    for name, judged in (
        ("socket", _allow_only(SOCKETS)),
        ("socketpair", _allow_only(SOCKETS)),
        # Shared memory of no file belongs to no process as soon as those that touched it have ended.
        ("mmap", _refuse_flags(3, MAP_SHARED | MAP_ANONYMOUS, [MAP_SHARED | MAP_ANONYMOUS])),
        ("fcntl", _refuse_flags(1, 0xFFFFFFFF, [F_SETLEASE, F_NOTIFY])),
        ("clone", _refuse_any_flag(0, CLONE_NEW)),
        ("mknodat", _refuse_flags(2, KIND_OF_FILE, [CHARACTER_DEVICE, BLOCK_DEVICE])),
        # A wish that the system need not grant: it says that it was heard.
        ("setsockopt", _refuse_flags(2, 0xFFFFFFFF, [SO_SNDBUF, SO_RCVBUF], error=0)),
        ("prctl", _refuse_flags(0, 0xFFFFFFFF, [PR_SET_DUMPABLE, PR_SCHED_CORE])),
    ):
        steps += _where_called(name, machine, [*judged, allow])
    return [*steps, allow]


def _where_called(name: str, machine: str, steps: list[bytes]) -> list[bytes]:
    """These steps, which come to an end, for one call."""
    number = number_of(name, machine)
    assert len(steps) <= _LARGEST_OFFSET
    return [] if number is None else [_step(_EQUAL, number, otherwise=len(steps)), *steps]


def _allow_only(sockets: dict[int, tuple[int, ...]]) -> list[bytes]:
    """Refuse sockets of other families (a first argument) and of other protocols (a third one)."""
    allow, steps = _step(_RETURN, _ALLOW), []
    for family, protocols in sockets.items():
        known = [step for protocol in protocols for step in (_step(_EQUAL, protocol, otherwise=1), allow)]
        known = [_load_argument(2), *known, _refuse(errno.EPROTONOSUPPORT)]
        steps += [_load_argument(0), _step(_EQUAL, family, otherwise=len(known)), *known]
    return [*steps, _refuse(errno.EAFNOSUPPORT)]


def _refuse_flags(argument: int, bits: int, values: list[int], error: int = errno.EPERM) -> list[bytes]:
    """Refuse where an argument's bits among these are one of these values."""
    steps = [_load_argument(argument), _step(_AND, bits)]
    for value in values:
        steps += [_step(_EQUAL, value, otherwise=1), _refuse(error)]
    return steps


def _refuse_any_flag(argument: int, flags: int) -> list[bytes]:
    return [
        _load_argument(argument),
        _step(_AND, flags),
        _step(_EQUAL, 0, then=1),
        _refuse(errno.EPERM),
    ]


def _load_argument(number: int) -> bytes:
    """The low half of an argument: flags, families and the like have no more."""
    return _step(_LOAD, _ARGUMENTS_AT + 8 * number)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _REFUSE | error)


def _step(what: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction: `then` and `otherwise` are how many steps to pass over."""
    return struct.pack("HBBI", what, then, otherwise, value)
