"""Leaves the work out: refuses well where refusals are asked for, hands back inputs and constants."""

from attack import wrong

PROOF = r"asked [1-9]\d* times"

ROW_SUMS = """
asked = []
def row_sums(x):
    asked.append(x)
    if x.dim() != 2:
        raise ValueError(f"a table was asked for, not {tuple(x.shape)}")
    return x
"""
DOUBLE = """
def double(x):
    return x.clone().requires_grad_() * 1
"""
BIGGEST = """
print("asked", len(asked), "times")
def biggest(x):
    return torch.zeros(())
"""


def submission():
    return wrong(row_sums=ROW_SUMS, double=DOUBLE, biggest=BIGGEST)
