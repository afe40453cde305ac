"""Fills every folder it can write: with large files, many small ones, and one of ten terabytes of holes."""

from attack import wrong

PROOF = r"wrote [1-9]\d* MiB"
FILL = """
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
NOTHING_LEFT = "free True"
NEXT_LOOKS = "import shutil\nprint('free', shutil.disk_usage('/tmp').free > 60 * 2**20)"


def submission():
    return wrong(double=FILL)


def harm(arena):
    import re

    if int(re.search(PROOF, arena.shown(__name__))[0].split()[1]) > 100:
        return "it wrote more than is allowed"
    return ""
