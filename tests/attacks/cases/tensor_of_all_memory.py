"""Fills memory with tensors and lists, a little at a time and all at once."""

from attack import wrong

FILL = """
kept = []
def double(x):
    kept.append(torch.ones(10**9))
    return x
def row_sums(x):
    while True:
        kept.append(torch.ones(10**6))
def biggest(x):
    while True:
        kept.extend([[None] * 10**5 for _ in range(10)])
"""


def submission():
    return wrong(double=FILL, row_sums="", biggest="")
