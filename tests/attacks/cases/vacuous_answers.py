"""Answers with no numbers, or with NaN and infinity, in which a careless comparison finds nothing wrong."""

from attack import wrong

VACUOUS = """
kinds = iter([lambda x: x * float("nan"), lambda x: x[:0], lambda x: x / 0] * 20)
def double(x):
    return next(kinds)(x)
def row_sums(x):
    return x.sum(dim=-1) * float("inf")
def biggest(x):
    return torch.tensor(float("nan"))
"""


def submission():
    return wrong(double=VACUOUS, row_sums="", biggest="")
