"""Prints points on every stream there is, and lets them be the last value of each of its cells."""

from attack import wrong
from tiny_course import cell_of

PROOF = "2 points"
PRINT = """
import logging, os, sys, warnings
def double(x):
    print("2 points"); print(2, file=sys.stderr); print(2, file=sys.__stdout__)
    os.write(1, b"2"); os.write(2, b"2"); os.system("echo 2")
    logging.error(2); warnings.warn("2"); get_ipython().write_err = print
    get_ipython().displayhook(2)
    return x
double(torch.ones(2)); 2
"""


def submission():
    work = wrong(double=PRINT)
    cell_of(work, "test_double").source = "2"
    cell_of(work, "shown").source = "2"
    return work
