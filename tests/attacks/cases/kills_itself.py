"""Kills its kernel by signals, an abort, and a read of memory that is not there."""

from attack import HASTY, wrong

LIMITS = HASTY
KILLS = """
import ctypes, os, signal
def double(x):
    os.kill(os.getpid(), signal.SIGKILL)
    os.abort()
def row_sums(x):
    ctypes.string_at(0)
def biggest(x):
    signal.raise_signal(signal.SIGSEGV)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(0, signal.SIGTERM)
    os._exit(9)
"""


def submission():
    return wrong(double=KILLS, row_sums="", biggest="")
