"""Forks as often as it can."""

from attack import HASTY, wrong

REPRESENTS = "using up the machine"
LIMITS = HASTY
BOMB = """
import os
def double(x):
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""


def submission():
    return wrong(double=BOMB)
