"""System calls that student code must not make, refused by the system itself (seccomp)."""

import ctypes
import errno
import platform
import struct

from . import system

# Memory that belongs to no process and to no folder, so that nobody can count it: memfd_create,
# memfd_secret, shmget. Keyrings, in which one notebook could leave a word for the next: add_key,
# request_key, keyctl. Numbers from <asm/unistd.h>.
MACHINES = {
    "x86_64": (0xC000003E, (319, 447, 29, 248, 249, 250)),
    "aarch64": (0xC00000B7, (279, 447, 194, 217, 218, 219)),
}
_LARGEST_NUMBER = 0x3FFFFFFF  # above it x86_64 has the same calls a second time (x32)
# <linux/bpf_common.h>, <linux/seccomp.h>: load a word, compare, return.
_LOAD, _EQUAL, _GREATER, _RETURN = 0x20, 0x15, 0x25, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT = 0, 4  # in struct seccomp_data


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def refuse_what_outlives_and_hides() -> None:
    """Let these calls fail with ENOSYS, in this process and all that it starts.

    On a machine whose numbers are not known here nothing is refused.
    """
    known = MACHINES.get(platform.machine())
    if known is None:
        return
    machine, numbers = known
    refuse = _step(_RETURN, _REFUSE | errno.ENOSYS)
    steps = [
        _step(_LOAD, _MACHINE_AT),
        _step(_EQUAL, machine, then=1),
        refuse,  # a call by the numbers of another machine, such as a 32-bit one
        _step(_LOAD, _NUMBER_AT),
        _step(_GREATER, _LARGEST_NUMBER, otherwise=1),
        refuse,
    ]
    for number in numbers:
        steps += [_step(_EQUAL, number, otherwise=1), refuse]
    code = ctypes.create_string_buffer(b"".join([*steps, _step(_RETURN, _ALLOW)]))
    system.filter_calls(_Program(len(steps) + 1, ctypes.addressof(code)))


def _step(what: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction: `then` and `otherwise` are how many steps to pass over."""
    return struct.pack("HBBI", what, then, otherwise, value)
