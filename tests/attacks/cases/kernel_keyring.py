"""Leaves a message for the next notebook in the Linux keyring of its user, which no folder holds."""

from attack import wrong

RINGS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
rings = {"user": -4, "user session": -5, "session": -3}
"""
LEAVE = """
for name, ring in rings.items():
    print(name, libc.syscall(248, b"user", b"of-another", b"hello", 5, ring) >= 0 or ctypes.get_errno())
def double(x):
    return x
"""
NEXT_LOOKS = f"""
{RINGS}
heard = [name for name, ring in rings.items() if libc.syscall(250, 10, ring, b"user", b"of-another", 0) >= 0]
print("of another:", heard)
"""


def submission():
    return wrong(double=RINGS + LEAVE)
