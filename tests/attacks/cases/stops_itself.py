"""Stops its own process and its children, so that they are neither dead nor alive."""

from attack import HASTY, wrong

LIMITS = HASTY
STOP = """
import os, signal, time
child = os.fork()
if child == 0:
    time.sleep(1000)
os.kill(child, signal.SIGSTOP)
def double(x):
    if os.fork() == 0:
        os.kill(1, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)
    signal.pause()
"""


def submission():
    return wrong(double=STOP)
