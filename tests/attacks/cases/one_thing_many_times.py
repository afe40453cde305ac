"""Answers with one thing referred to hundreds of thousands of times: small to send, endless to say."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT
PROOF = "answers"
REPEATED = """
import base64, json
from safetensors.torch import save
wide, plain = torch.ones(1000), torch.ones(3)
def nest(leaf, *counts):
    for count in counts:
        leaf = [leaf] * count
    return leaf
deep = "x"
for _ in range(40):
    deep = [deep, deep]
kinds = [
    lambda x: nest(wide, 9_000, 50), lambda x: nest(x, 9_999, 9_999), lambda x: {"a": nest(plain, 9_999, 99)},
    lambda x: tuple(nest(x * 2, 9_000, 9)), lambda x: {str(n): nest(x, 999) for n in range(999)},
    lambda x: deep, lambda x: nest("y" * 9_999, 5_000), lambda x: nest(10**4_000, 9_000),
    lambda x: {"k" * 10**6 + str(n): x for n in range(9)},
    lambda x: [torch.ones(0) for _ in range(9_999)],
]
turn = [0]
def double(x):
    turn[0] += 1
    return kinds[turn[0] % len(kinds)](x)
row_sums = biggest = double
print("answers")
"""
# The same, packed by hand: nothing of the kernel's side keeps it within bounds.
FORGED = """
def words(tree, tensors={"0": torch.ones(1000)}):
    return " ".join(base64.b64encode(word).decode() for word in (json.dumps(tree).encode(), save(tensors)))
leaf = {"tensor": "0"}
trees = [
    {"list": [{"dict": [["value", {"list": [leaf] * 400_000}]]}] * 2},
    {"list": [{"dict": [["value", {"dict": [[str(n), leaf] for n in range(300_000)]}]]}] * 2},
    {"list": [{"dict": [["value", {"list": [{"tensor": "0", "order": [0]}] * 300_000}]]}] * 2},
    {"list": [{"dict": [["value", {"list": [{"list": []}] * 500_000}]]}] * 2},
]
import builtins
real = builtins.exec
def forged_exec(code, space=None, *more):
    real(code, space, *more)
    if isinstance(space, dict) and "respond" in space:
        turn[0] += 1
        space["respond"] = lambda *_: words(trees[turn[0] % len(trees)])
builtins.exec = forged_exec
"""


def submission():
    return wrong(double=REPEATED, row_sums="", biggest=FORGED)
