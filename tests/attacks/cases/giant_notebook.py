"""Hands in a thousand slow copies of an answer, inside many megabytes of metadata."""

import copy
import json

from attack import HASTY, wrong
from tiny_course import cell_of

LIMITS = HASTY


def submission():
    work = wrong()
    slow = cell_of(work, "double")
    for number in range(1_000):
        another = copy.deepcopy(slow)
        another.source = f"import time\ntime.sleep(0.1)\nnumber = {number}\n{slow.source}"
        work.cells.append(another)
    work.metadata["x"] = {str(n): ["y" * 100] * 10 for n in range(6_000)}
    slow.source += "\n# " + "z" * 4 * 2**20
    return json.dumps(work).encode()
