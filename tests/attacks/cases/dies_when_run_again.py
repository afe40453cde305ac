"""Lets cells run once and kill the kernel whenever they are run again, so that it begins without end."""

from attack import HASTY, wrong
from nbformat.v4 import new_code_cell
from tiny_course import after

LIMITS = HASTY | {"notebook_seconds": 15}
PROOF = "first time"
CELL = """
import os, time

DAILY = "kills_itself"
if time.time() > {until}:
    os._exit(1)
print("first time")
"""


def submission():
    import time

    work = wrong(double="import os\ndef double(x):\n    os._exit(1)", row_sums="", biggest="")
    for number in range(40):
        work = after(work, "setup", new_code_cell(CELL.format(until=time.time() + 1.5 + number / 20)))
    return after(work, "double", new_code_cell("time.sleep(3)\nos._exit(1)"))
