"""Attacks that use up the machine."""

import os
import re

from attack import HASTY, Attack


class ForkBomb(Attack):
    """Forks as often as it can."""

    represents = "using up the machine"
    limits = HASTY
    double = """
import os
def double(x):
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""


class EveryProcessor(Attack):
    """Keeps every processor busy, and lets its processes run on others than the one it was given."""

    proof = r"ran on \[\d"
    double = """
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

    def harm(self, arena):
        from nbjudge.sandbox.fork_server_client import claimed_processor

        places = re.search(r"ran on (\[[^]]*\])", arena.shown(self.name))[1]
        claimed = claimed_processor()
        if claimed is None or len(os.sched_getaffinity(0)) == 1:  # a machine full of graders
            return ""
        return "" if places == f"[{claimed}]" else f"it ran on {places}, and not only on {claimed}"


class FillsTheDisk(Attack):
    """Fills every folder it can write: large files, many small ones, and ten terabytes of holes."""

    proof = r"wrote [1-9]\d* MiB"
    double = """
import os, tempfile
wrote = 0
for folder in ("/tmp", "/dev/shm", "/home/student", ".", "/run", "/run/kernel", "/run/sockets", "/var/tmp"):
    try:
        for number in range(40):
            with open(f"{folder}/big{number}", "wb") as stream:
                for _ in range(400):
                    wrote += stream.write(b"2" * 10**5) / 2**20
    except OSError:
        pass
    try:
        with open(f"{folder}/holes", "wb") as stream:
            stream.truncate(10**13)
    except OSError:
        pass
    try:
        for number in range(30_000):
            os.mkdir(f"{folder}/{number}")
    except OSError:
        pass
print("wrote", int(wrote), "MiB")
def double(x):
    return x
"""
    nothing_left = "free True"
    next_looks = "import shutil\nprint('free', shutil.disk_usage('/tmp').free > 60 * 2**20)"

    def harm(self, arena):
        import re

        if int(re.search(self.proof, arena.shown(self.name))[0].split()[1]) > 100:
            return "it wrote more than is allowed"
        return ""


class AllTerminals(Attack):
    """Takes all terminals of the machine, so that no one else can open one."""

    proof = "took [0-9]+"
    double = """
import os
def take():
    taken = 0
    try:
        while True:
            os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
            taken += 1
    except OSError:
        return taken
took = take()
for _ in range(20):
    if os.fork() == 0:
        take()
        import time
        time.sleep(5)
        os._exit(0)
print("took", took)
def double(x):
    return x
"""
    MOST = 64

    def harm(self, arena):
        taken = int(arena.shown(self.name).split("took ")[1].split("\\n")[0])
        os.close(os.openpty()[0])  # the machine has some left
        return f"it took {taken} terminals" if taken > self.MOST else ""
