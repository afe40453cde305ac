"""Lays pipes, sockets, and files with names that are options, commands or no text beside its notebook."""

import os
import socket

from attack import wrong

PROOF = "listed"
LIST = """
import os
print("listed", len(list(os.walk("."))))
def double(x):
    return x
"""
NAMES = [
    "-rf",
    "--force",
    "a\nb",
    "*",
    "$(touch x)",
    ";touch x",
    "'\"`",
    " ",
    "...",
    "x" * 255,
    "\u202egnp.exe",
]


def prepare(folder):
    for name in [*map(os.fsencode, NAMES), b"\xff\xfe\x80"]:
        with open(os.path.join(os.fsencode(folder), name), "w") as stream:
            stream.write("2")
    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as bound:
        at = os.open(folder, os.O_PATH)  # the name of a socket must be short
        bound.bind(f"/proc/self/fd/{at}/socket.py")
        os.close(at)
    for name in ("another.ipynb", "timestamp.txt", "__pycache__"):
        (folder / name).mkdir()
    (folder / "/".join(["d" * 30] * 60)).mkdir(parents=True)


def submission():
    return wrong(double=LIST)
