"""Answers with the largest and the deepest things there are: tensors, lists, integers, nests, itself."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT
GIANT = """
import functools
def nest(depth):
    return functools.reduce(lambda inner, _: [inner], range(depth), [])
itself = {}
itself["itself"] = [itself]
kinds = [
    lambda: torch.zeros(1).expand(10**12), lambda: torch.zeros(20_000_000), lambda: nest(9),
    lambda: [torch.zeros(1_000_000)] * 50, lambda: 7 ** 200_000, lambda: nest(100_000), lambda: itself,
    lambda: ["x" * 20_000] * 5_000, lambda: {str(n): [n] * 50 for n in range(9_000)},
]
turn = [0]
def double(x):
    turn[0] += 1
    return kinds[turn[0] % len(kinds)]()
row_sums = biggest = double
"""


def submission():
    return wrong(double=GIANT, row_sums="", biggest="")
