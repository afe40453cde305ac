"""Does no work at all but sleeps, in every cell and answer, as long as each is waited for."""

from attack import HASTY, wrong
from nbformat.v4 import new_code_cell
from tiny_course import after

LIMITS = HASTY | {"notebook_seconds": 8}
PROOF = "asleep|used up"
SLEEP = """
import time

DAILY = "sleeps"
def sleep():
    print("asleep", flush=True)
    while True:
        try:
            time.sleep(0.5)
        except BaseException:
            pass
"""
ANSWERS = {name: f"{SLEEP}\ndef {name}(x):\n    sleep()" for name in ("double", "row_sums", "biggest")}


def submission():
    work = wrong(**ANSWERS)
    for _ in range(10):
        work = after(work, "double", new_code_cell("try:\n    sleep()\nexcept BaseException:\n    sleep()"))
    return work
