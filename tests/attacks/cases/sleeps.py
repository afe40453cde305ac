"""Sleeps through every cell and answer, as a kernel that does no work is waited for."""

from attack import HASTY, wrong

LIMITS = HASTY
SLEEP = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
def double(x):
    time.sleep(10**6)
"""


def submission():
    return wrong(double=SLEEP)
