"""Keeps every processor busy, and lets its processes run on others than the one it was given."""

import os
import re

from attack import wrong

PROOF = r"ran on \[\d"
SPREAD = """
import ctypes, os, subprocess, time
libc = ctypes.CDLL(None)
everywhere = (ctypes.c_ulong * 16)(*[2**64 - 1] * 16)
number, attributes = (203, 314) if os.uname().machine == "x86_64" else (122, 274)
reader, writer = os.pipe()
for way in range(12):
    if os.fork() == 0:
        if way % 2:
            os.setsid()
        try:
            os.sched_setaffinity(0, range(os.cpu_count()))
        except OSError:
            pass
        libc.syscall(number, 0, ctypes.sizeof(everywhere), everywhere)
        libc.syscall(attributes, 0, (ctypes.c_uint32 * 12)(48, 0, 0, 0, 0, 0), 0)
        subprocess.run(["taskset", "-pc", f"0-{os.cpu_count() - 1}", str(os.getpid())], capture_output=True)
        seen, ends = set(), time.monotonic() + 1
        while time.monotonic() < ends:
            seen.add(int(open("/proc/self/stat").read().rpartition(")")[2].split()[36]))
        os.write(writer, b"".join(b"%d " % place for place in seen))
        os._exit(0)
os.close(writer)
places = b""
while said := os.read(reader, 100):
    places += said
print("ran on", sorted(set(map(int, places.split()))))
def double(x):
    return x
"""


def submission():
    return wrong(double=SPREAD)


def harm(arena):
    from nbjudge.sandbox.forked_kernel import ANY, claimed_processor

    places = re.search(r"ran on (\[[^]]*\])", arena.shown(__name__))[1]
    claimed = claimed_processor()
    if claimed == ANY or len(os.sched_getaffinity(0)) == 1:  # a machine full of graders
        return ""
    return "" if places == f"[{claimed}]" else f"it ran on {places}, and not only on {claimed}"
