"""Looks through its open files for one that its ancestors left open, and climbs out of it."""

from attack import wrong

PROOF = "looked at all"
CLIMB = """
import os, socket, stat
left = []
for number in range(1024):
    try:
        kind = os.fstat(number).st_mode
        target = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        continue
    if stat.S_ISDIR(kind):
        left.append(("folder", target))
        os.fchdir(number)
    elif stat.S_ISREG(kind) and not target.startswith(("/usr", "/home/student", "/tmp")):
        left.append(("file", target))
    elif stat.S_ISSOCK(kind):
        wire = socket.socket(fileno=os.dup(number))
        if wire.family == socket.AF_UNIX and wire.type == socket.SOCK_SEQPACKET:
            left.append(("wire", target))
            wire.send(b"ready")
print("left open:", left)
print("looked at all")
def double(x):
    return x
"""


def submission():
    return wrong(double=CLIMB)


def harm(arena):
    return "" if "left open: []" in arena.shown(__name__) else arena.shown(__name__)[:300]
