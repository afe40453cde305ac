"""Refuses every call with a sentence that holds all numbers, one of which is the number asked for."""

from attack import wrong

REFUSAL = """
def row_sums(x):
    raise ValueError(" ".join(map(str, range(60))))
"""


def submission():
    return wrong(row_sums=REFUSAL)
