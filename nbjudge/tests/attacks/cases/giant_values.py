"""Answers, errors and texts that are too large, too deep or endless."""

from attack import FORGED_REPLIES, HASTY, IMPATIENT, Attack, wrong


class GiantAnswers(Attack):
    """Answers with the largest and the deepest things there are: tensors, lists, integers, nests, itself."""

    limits = IMPATIENT
    double = """
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
    row_sums = biggest = ""


class GiantErrors(Attack):
    """Raises errors with messages and names of a hundred megabytes, in groups, in chains and without end."""

    limits = HASTY
    double = """
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
    row_sums = biggest = ""


class OneThingManyTimes(Attack):
    """Answers with one thing referred to hundreds of thousands of times: small to send, endless to say."""

    daily = "output_flood"
    limits = IMPATIENT
    proof = "answers"
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

    def submission(self, arena):
        return wrong(double=self.REPEATED, row_sums="", biggest=FORGED_REPLIES + self.FORGED)


class PaddedTexts(Attack):
    """Answers with arrays of texts of which one is long: numpy makes all others as long."""

    limits = IMPATIENT
    most_memory = 300  # MiB
    proof = "answers"
    PADDED = """
def padded(count, length):
    return {"array": ["str", [count], ["x" * length, *[""] * (count - 1)], []]}
values = [padded(1_000, 500_000), {"list": [padded(200, 19_000)] * 100}, padded(100_000, 20)]
def reply(number):
    return words({"list": [dict_of(value=values[number % len(values)])] * 2})
print("answers")
"""

    def submission(self, arena):
        return wrong(double=FORGED_REPLIES + self.PADDED)


class StepsWithoutEnd(Attack):
    """Reports hundreds of thousands of steps that ran, with long names, for its judge to look through."""

    limits = IMPATIENT | {"notebook_seconds": 40}
    proof = "reports"
    FORGE = """
lists = [[f"step {n:x}" for n in range(60_000)], ["aten::" + "_" * 19_000 + str(n) for n in range(150)],
         ["*" * 9_000, "[" * 9_000, "aten::[!" * 2_000]]
def reply(number):
    ran = {"list": [{"plain": name} for name in lists[number % len(lists)]]}
    return words({"list": [dict_of(value=tensor, ran=ran, changed=ran)] * 2})
print("reports", flush=True)
def double(x):
    return x
"""

    def submission(self, arena):
        return wrong(double=FORGED_REPLIES + self.FORGE, row_sums="", biggest="")


class TextOfNoEncoding(Attack):
    """Answers, raises and prints halves of surrogate pairs, control characters and a book of them."""

    proof = "row_sums was called"
    double = r"""
import sys
bad = "\ud800\udfff\x00\x1b[2J\x07\u202e\r\n{}'\"" * 50
def double(x):
    print(bad.encode("utf-8", "replace"))
    return [bad, {bad: bad}]
def row_sums(x):
    print("row_sums was called")
    raise ValueError(bad * 1000)
def biggest(x):
    raise type(bad[4:9].strip("\x00") or "E", (Exception,), {})(bad)
"""
    row_sums = biggest = ""
