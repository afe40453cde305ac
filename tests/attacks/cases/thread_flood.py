"""Starts as many threads as it can, none of which ends."""

from attack import HASTY, wrong

LIMITS = HASTY
FLOOD = """
import threading, time
def double(x):
    for _ in range(3000):
        try:
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        except RuntimeError:
            time.sleep(0.01)
    return x
"""


def submission():
    return wrong(double=FLOOD)
