"""Never ends its first cell, and leaves the interrupt's handler off."""

from attack import HASTY, wrong

LIMITS = HASTY
ENDLESS = """
import signal

DAILY = "endless_answer"
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
"""


def submission():
    return wrong(double=ENDLESS)
