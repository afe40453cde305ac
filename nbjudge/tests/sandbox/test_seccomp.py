"""The seccomp filter: what it refuses on each machine that it knows, and that nothing is graded on others."""

import errno
import platform
import re
import struct
import sys
from pathlib import Path

import pytest

from nbjudge.sandbox import bubblewrap
from nbjudge.sandbox.inside import filter as seccomp
from nbjudge.sandbox.inside.filter import JUDGED_BY_ARGUMENTS, MACHINES, REFUSED, number_of

pytestmark = pytest.mark.integration

HEADERS = {
    "x86_64": [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")],
    "aarch64": [Path("/usr/include/asm-generic/unistd.h")],
}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000
# Calls that everything makes: read, write, futex, execve, openat, on each machine.
COMMON = {"x86_64": (0, 1, 202, 59, 257), "aarch64": (63, 64, 98, 221, 56)}


def decision(machine: str, number: int, *arguments: int, spoken_as: int | None = None) -> int:
    """Return what the filter's program returns for a call: an interpreter of the few instructions it uses."""
    called_by = MACHINES[machine] if spoken_as is None else spoken_as
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, called_by, 0, *padded)
    word, at = 0, 0
    steps = [struct.unpack("HBBI", step) for step in seccomp.program(machine)]
    while True:
        what, then, otherwise, value = steps[at]
        at += 1
        if what == 0x20:
            (word,) = struct.unpack_from("<I", data, value)
        elif what == 0x54:
            word &= value
        elif what == 0x06:
            return value
        else:
            holds = word == value if what == 0x15 else word > value
            at += then if holds else otherwise


def refused_with(error: int) -> int:
    return 0x00050000 | error


@pytest.mark.parametrize("machine", MACHINES)
def test_only_listed_calls_are_refused(machine):
    for name, error in REFUSED.items():
        number = number_of(name, machine)
        if number is not None:
            assert decision(machine, number) == refused_with(error), name
    for number in COMMON[machine]:
        assert decision(machine, number) == ALLOWED
    assert decision(machine, seccomp.NEWEST_KNOWN + 1) == refused_with(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("another", [0x40000003, 0x40000028, *MACHINES.values(), 0], ids=hex)
def test_calls_by_foreign_numbers_end_the_process(machine, another):
    numbers = (*COMMON[machine], *filter(None, (number_of(name, machine) for name in REFUSED)))
    if another == MACHINES[machine]:
        assert {decision(machine, number | 0x40000000) for number in numbers} == {KILLED}  # x32
    else:
        assert {decision(machine, number, spoken_as=another) for number in numbers} == {KILLED}


@pytest.mark.parametrize("machine", MACHINES)
def test_what_arguments_decide(machine):
    calls = {
        ("socket", 1, 1, 0): 0,
        ("socket", 2, 1, 6): 0,
        ("socket", 10, 2, 17): 0,
        ("socket", 16, 3, 0): 0,
        ("socket", 16, 3, 4): errno.EPROTONOSUPPORT,
        ("socket", 2, 1, 132): errno.EPROTONOSUPPORT,
        ("socket", 40, 1, 0): errno.EAFNOSUPPORT,
        ("socket", 17, 3, 0): errno.EAFNOSUPPORT,
        ("socketpair", 1, 1, 0): 0,
        ("socketpair", 30, 1, 0): errno.EAFNOSUPPORT,
        ("mmap", 0, 4096, 3, 0x22, 0xFFFFFFFF): 0,
        ("mmap", 0, 4096, 3, 0x01, 5): 0,
        ("mmap", 0, 4096, 3, 0x21, 0xFFFFFFFF): errno.EPERM,
        ("mmap", 0, 4096, 3, 0x4021, 0xFFFFFFFF): errno.EPERM,
        ("fcntl", 5, 6): 0,
        ("fcntl", 5, 1024): errno.EPERM,  # a lease
        ("fcntl", 5, 1026): errno.EPERM,
        ("clone", 0x003D0F00): 0,  # a thread
        ("clone", 0x01200011): 0,  # a fork
        ("clone", 0x10000011): errno.EPERM,
        ("clone", 0x60020011): errno.EPERM,
        ("mknodat", 0, 0, 0o10600): 0,  # a pipe with a name
        ("mknodat", 0, 0, 0o20600): errno.EPERM,
        ("mknodat", 0, 0, 0o60600): errno.EPERM,
        ("prctl", 15): 0,
        ("prctl", 62): errno.EPERM,
    }
    for (name, *arguments), error in calls.items():
        wanted = refused_with(error) if error else ALLOWED
        assert decision(machine, number_of(name, machine), *arguments) == wanted, (name, arguments)
    # It is heard, and nothing is done: as large as the system likes.
    assert decision(machine, number_of("setsockopt", machine), 5, 1, 7) == refused_with(0)
    assert decision(machine, number_of("setsockopt", machine), 5, 1, 2) == ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_systems_own(machine):
    """No two calls have one number."""
    numbers = [number_of(name, machine) for name in (*REFUSED, *JUDGED_BY_ARGUMENTS)]
    numbers = [number for number in numbers if number is not None]
    assert len(numbers) == len(set(numbers))
    header = next(filter(Path.exists, HEADERS[machine]), None)
    if header is None:
        pytest.skip("the headers of Linux are not installed")
    lines = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", header.read_text(), re.MULTILINE)
    known = {name: int(number) for name, number in lines}
    compared = {name: number_of(name, machine) for name in (*REFUSED, *JUDGED_BY_ARGUMENTS) if name in known}
    assert len(compared) > 60
    assert compared == {name: known[name] for name in compared}


@pytest.mark.parametrize(
    ("machine", "largest", "named"),
    [("riscv64", 2**63 - 1, "riscv64"), ("x86_64", 2**31 - 1, "x86_64, 32-bit Python")],
)
def test_on_an_unknown_machine_nothing_is_graded(monkeypatch, machine, largest, named):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(sys, "maxsize", largest)
    bubblewrap.sandbox_refusal.cache_clear()
    try:
        sentence = bubblewrap.sandbox_refusal()
    finally:
        bubblewrap.sandbox_refusal.cache_clear()
    assert sentence == (
        f"The sandbox does not know the system calls of this machine ({named}), and cannot refuse the "
        "dangerous ones: grade on x86_64 or aarch64 with a 64-bit Python."
    )
    with pytest.raises(RuntimeError, match="does not know the system calls"):
        seccomp.install_seccomp_filter()
