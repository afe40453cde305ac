"""Recurses without end, in Python with the limit taken off, and in C."""

from attack import HASTY, wrong

LIMITS = HASTY
OVERFLOW = """
import sys

DAILY = "exits"
sys.setrecursionlimit(10**9)
class Endless:
    def __repr__(self): return repr(self)
    def __getattr__(self, name): return getattr(self, name + "x")
def double(x):
    def deeper(n): return deeper(n + 1)
    return deeper(0)
def biggest(x):
    return repr(Endless())
"""


def submission():
    return wrong(double=OVERFLOW, biggest="")
