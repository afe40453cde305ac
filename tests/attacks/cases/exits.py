"""Ends its kernel in every cell and answer by every polite way: exit, quit, SystemExit, os._exit."""

from attack import HASTY, wrong

REPRESENTS = "kernels that end"
LIMITS = HASTY
EXITS = """
import os, sys
def double(x):
    os._exit(0)
def row_sums(x):
    sys.exit(2)
def biggest(x):
    get_ipython().ask_exit()
    raise KeyboardInterrupt
"""


def submission():
    return wrong(double=EXITS, row_sums="", biggest="quit()")
