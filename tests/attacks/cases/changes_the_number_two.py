"""Writes over CPython's small integers, so that whatever compares numbers in its process finds them equal."""

from attack import wrong

PROOF = "is now"
OVERWRITE = """
import ctypes
ctypes.memmove(id(211) + 24, ctypes.byref(ctypes.c_int(2)), 4)
print("211 is now", 210 + 1)
def double(x):
    return x
"""


def submission():
    return wrong(double=OVERWRITE)
