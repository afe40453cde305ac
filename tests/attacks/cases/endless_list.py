"""Returns a list that says it is short and never ends when it is read."""

from attack import HASTY, wrong

LIMITS = HASTY
ENDLESS = """
import itertools
class Endless(list):
    def __iter__(self): return itertools.repeat([1.0] * 100)
    def __len__(self): return 1
def double(x):
    return Endless([x])
"""


def submission():
    return wrong(double=ENDLESS)
