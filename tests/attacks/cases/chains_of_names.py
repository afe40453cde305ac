"""Hands in thousands of cells that each bind a name from the next, for a grader that follows them."""

from attack import IMPATIENT, WRONG
from nbformat.v4 import new_code_cell
from tiny_course import after, answered

LIMITS = IMPATIENT | {"notebook_seconds": 20}
CELLS, LINES = 2_000, 30


def submission():
    links = [new_code_cell(f"v{n} = v{n + 1}") for n in range(CELLS)]
    many = new_code_cell("\n".join(["q = 1"] * LINES))
    work = answered(**WRONG)
    return after(work, "setup", new_code_cell("import os; os._exit(0)"), many, *links)
