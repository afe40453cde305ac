"""Watches, locks and leases the files that all kernels are shown, to see or to hold up who comes after it."""

from attack import wrong

PROOF = "tried [1-9]"
TRY = """
import ctypes, fcntl, os, struct, sys
import numpy
libc, done, tried = ctypes.CDLL(None, use_errno=True), [], 0
shared = [sys.executable, os.__file__, numpy.__file__, torch.__file__, "/usr/bin/env", "/dev/null"]
def attempt(name, function):
    global tried
    tried += 1
    try:
        if function():
            done.append(name)
    except OSError:
        pass
for path in shared:
    with open(path, "rb") as file:
        attempt(f"lease on {path}", lambda: fcntl.fcntl(file, 1024, fcntl.F_WRLCK) == 0)
        attempt(f"write lock on {path}", lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB) is None)
    changes = (os.utime, lambda p: os.chmod(p, 0o777), lambda p: os.setxattr(p, "user.note", b"2"), os.unlink)
    for change in changes:
        attempt(f"change of {path}", lambda: change(path) is None)
for name, number in (("inotify_init", None), ("fanotify_init", None)):
    function = getattr(libc, name)
    attempt(name, lambda: (function(0, 0) if name == "fanotify_init" else function()) >= 0)
print("tried", tried)
print("done", [entry for entry in done if "/dev/null" not in entry])
"""


def submission():
    return wrong(double=TRY + "def double(x):\n    return x")


def harm(arena):
    return "" if "done []" in arena.shown(__name__) else arena.shown(__name__)[:1000]
