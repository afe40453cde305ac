"""Works in a folder within 18,000 others, whose name the system takes minutes to put together."""

from attack import wrong

PROOF = "longer than any program can use"
DIG = """
import os
for _ in range(18_000):
    os.mkdir("d")
    os.chdir("d")
def double(x):
    return x
"""


def submission():
    return wrong(double=DIG)
