"""Raises errors with messages and names of a hundred megabytes, in groups, in chains and without end."""

from attack import HASTY, wrong

LIMITS = HASTY
ERRORS = """
def double(x):
    raise type("E" * 10**7, (Exception,), {})("x" * 10**8)
def row_sums(x):
    error = ValueError("y" * 10**6)
    for number in range(1000):
        error = ExceptionGroup(f"group {number}" * 100, [error])
    raise error
def biggest(x):
    try:
        return biggest(x)
    except RecursionError as error:
        raise ValueError("z" * 10**5) from error
class Unspeakable(Exception):
    def __str__(self): raise self
    __repr__ = __str__
raise Unspeakable()
"""


def submission():
    return wrong(double=ERRORS, row_sums="", biggest="")
