"""The Linux calls that Python 3.11 has no name for: namespaces, mounts, capabilities."""

import ctypes
import os
from typing import Any

_libc: Any = ctypes.CDLL(None, use_errno=True)

# <linux/sched.h>
NEW_MOUNTS = 0x00020000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_PIDS = 0x20000000
NEW_NETWORK = 0x40000000

# <sys/mount.h>
READ_ONLY = 1
NO_SET_UID = 2
NO_DEVICES = 4
REMOUNT = 32
BIND = 4096
RECURSIVE = 16384
PRIVATE = 1 << 18

# <sys/prctl.h>, <linux/securebits.h>
_DIE_WITH_PARENT = 1
_DUMPABLE = 4
_DROP_FROM_BOUNDING_SET = 24
_NO_NEW_PRIVILEGES = 38
_SECCOMP, _SECCOMP_FILTER = 22, 2
_AMBIENT, _AMBIENT_CLEAR_ALL = 47, 4
_SECURE_BITS, _NO_ROOT_LOCKED = 28, 0b11
_CAPABILITY_VERSION_3 = 0x20080522


def unshare(kinds: int) -> None:
    """Leave the given kinds of namespaces for new ones. Raises OSError."""
    _checked(_libc.unshare(kinds))


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2). Raises OSError."""
    _checked(
        _libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, options.encode() or None)
    )


def die_with_parent(signal_number: int) -> None:
    """Have this process sent a signal when its parent ends."""
    _checked(_libc.prctl(_DIE_WITH_PARENT, signal_number, 0, 0, 0))


def let_others_look(allowed: bool) -> None:
    """Set whether processes of the same user may trace this one and read its memory."""
    _checked(_libc.prctl(_DUMPABLE, int(allowed), 0, 0, 0))


def drop_all_privileges() -> None:
    """Give up every capability, for this process and whatever it starts. Call before any thread."""
    capability = 0
    while _libc.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0) == 0:
        capability += 1
    _checked(_libc.prctl(_SECURE_BITS, _NO_ROOT_LOCKED, 0, 0, 0))
    _checked(_libc.prctl(_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0))
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc.capset(header, nothing))
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def filter_calls(program: ctypes.Structure) -> None:
    """Hold every later system call against a seccomp program. Call after `drop_all_privileges`."""
    _checked(_libc.prctl(_SECCOMP, _SECCOMP_FILTER, ctypes.byref(program), 0, 0))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
