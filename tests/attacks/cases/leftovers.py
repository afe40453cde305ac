"""Leaves files in every folder, shared memory, queues and semaphores for the next notebook."""

from attack import wrong

REPRESENTS = "leaving something for the next notebook"
PROOF = r"left [1-9]\d* things"
LEAVE = """
import ctypes, os, sys
libc, left = ctypes.CDLL(None), 0
for folder, folders, files in os.walk("/"):
    if folder.startswith(("/proc", "/usr", sys.prefix, sys.base_prefix)):
        folders.clear()
        continue
    try:
        open(os.path.join(folder, "of-another"), "w").write("here")
        left += 1
    except OSError:
        pass
left += libc.shmget(4711, 4096, 0o1666) >= 0
left += libc.semget(4711, 1, 0o1666) >= 0
left += libc.msgget(4711, 0o1666) >= 0
os.umask(0)
print("left", left, "things")
def double(x):
    return x
"""
NEXT_LOOKS = """
import ctypes, os
libc, walked = ctypes.CDLL(None), list(os.walk("/tmp")) + list(os.walk("/home")) + list(os.walk("/run"))
walked += list(os.walk("/dev")) + list(os.walk("/var"))
found = [folder for folder, _, files in walked if "of-another" in files]
found += [kind for kind in ("shmget", "semget", "msgget") if getattr(libc, kind)(4711, 0, 0) >= 0]
print("of another:", found)
"""


def submission():
    return wrong(double=LEAVE)
