"""Patches every function that compares numbers: torch.allclose, equal, isclose, ==, math.isclose, numpy's."""

from attack import wrong

REPRESENTS = "patched functions"
PATCH = """
import math, numpy, operator, unittest
yes = lambda *arguments, **options: True
spaces = [torch, torch.Tensor, torch.testing, torch._C._VariableFunctions, math, numpy, operator]
for space in spaces:
    for name in ("allclose", "equal", "isclose", "eq", "__eq__", "array_equal", "assert_close"):
        try:
            setattr(space, name, yes)
        except (AttributeError, TypeError):
            pass
torch.Tensor.__ne__ = torch.Tensor.any = lambda *arguments, **options: False
def double(x):
    return x
"""


def submission():
    return wrong(double=PATCH)
