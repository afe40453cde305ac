"""Traces its ancestors and the processes whose numbers it guesses, and reads and writes their memory."""

from attack import wrong

PROOF = "traced"
TRACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
held = ctypes.create_string_buffer(8)
local = (ctypes.c_void_p * 2)(ctypes.addressof(held), 8)
remote = (ctypes.c_void_p * 2)(id(held), 8)
reached = []
own = {int(name) for name in os.listdir("/proc/self/task")}
for process in sorted({0, os.getppid(), *range(2, 5000)} - own):
    if libc.ptrace(16, process, None, None) == 0 or libc.ptrace(0x4206, process, None, None) == 0:
        reached.append(("trace", process))
    if process and libc.syscall(310, process, local, 1, remote, 1, 0) > 0:
        reached.append(("memory", process))
    if process and libc.syscall(434, process, 0) >= 0:
        reached.append(("handle", process))
print("traced", reached)
def double(x):
    return x
"""


def submission():
    return wrong(double=TRACE)


def harm(arena):
    return "" if "traced []" in arena.shown(__name__) else arena.shown(__name__)[:300]
