"""Answers with one thing referred to hundreds of thousands of times: small to send, endless to say."""

from attack import FORGED_REPLIES, IMPATIENT, wrong

DAILY = "output_flood"

LIMITS = IMPATIENT
PROOF = "answers"
REPEATED = """
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
trees = [
    {"list": [{"dict": [["value", {"list": [tensor] * 400_000}]]}] * 2},
    {"list": [{"dict": [["value", {"dict": [[str(n), tensor] for n in range(300_000)]}]]}] * 2},
    {"list": [{"dict": [["value", {"list": [array] * 300_000}]]}] * 2},
    {"list": [{"dict": [["value", {"list": [{"list": []}] * 500_000}]]}] * 2},
    {"list": [dict_of(value={"table": [["a"] * 900, [["array", array]] * 900, [None, 10, None]]})] * 2},
    {"list": [dict_of(value={"column": ["a", ["object", {"list": [tensor] * 900}], [None, 900, None]]})] * 2},
    {"list": [dict_of(value={"column": ["a", ["object", tensor], [None, 1000, None]]})] * 2},
]
def reply(number):
    return words(trees[number % len(trees)])
"""


def submission():
    return wrong(double=REPEATED, row_sums="", biggest=FORGED_REPLIES + FORGED)
