"""The /proc of one kernel: its own processes, and nothing that changes the machine or tells of others."""

import os

from . import system

SWITCHES = ("sys", "sysrq-trigger", "irq", "bus")
# The grader's keys, and what is in the machine's memory. Where the grader runs as root, its user is
# the machine's root inside, too, if one without privileges; and these files ask for the user.
OTHERS = (
    *("keys", "key-users", "kmsg", "kcore", "kallsyms", "iomem", "ioports"),
    *("kpagecgroup", "kpagecount", "kpageflags", "pagetypeinfo", "slabinfo", "vmallocinfo"),
    *("latency_stats", "sched_debug", "timer_list", "timer_stats"),
)


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
