"""Holds the interpreter's lock in C code that no interrupt of Python's reaches."""

from attack import HASTY, wrong

LIMITS = HASTY
HOLD = """
import ctypes, signal
signal.signal(signal.SIGINT, lambda *arguments: None)
def double(x):
    ctypes.PyDLL(None).sleep(1000)
    return x
"""


def submission():
    return wrong(double=HOLD)
