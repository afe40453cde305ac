"""Answers that lie about what they are, or that leave the work out."""

from attack import Attack


class ChangingAnswers(Attack):
    """Returns dicts, lists, numbers and text that are something else each time they are read."""

    double = """
import itertools
turn = itertools.count()
class Shifting(dict):
    def items(self): return [("points", 2)] if next(turn) % 2 else [("value", torch.ones(3))]
    def __len__(self): return next(turn) % 3
    def keys(self): return ["points", "agrees"][: next(turn) % 3]
class Sliding(list):
    def __iter__(self): return iter([torch.ones(next(turn) % 5)] * (next(turn) % 4))
    def __len__(self): return 1
class Number(float):
    def __float__(self): return float("nan")
    def __eq__(self, other): return True
    def __repr__(self): return "2}, {"
class Text(str):
    def __getitem__(self, index): return self * 10**6
    def __len__(self): return 1
kinds = iter([Number(2), Text("2"), {Text("2"): Number(2)}] * 100)
def double(x):
    return Shifting(value=x)
def row_sums(x):
    return Sliding([x.sum(-1)])
def biggest(x):
    return next(kinds)
"""
    row_sums = biggest = ""


class RefusesEverything(Attack):
    """Refuses every call with a sentence that holds all numbers, one of which is the number asked for."""

    row_sums = """
def row_sums(x):
    raise ValueError(" ".join(map(str, range(60))))
"""
