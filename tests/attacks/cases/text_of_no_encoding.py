"""Answers, raises and prints halves of surrogate pairs, control characters and a book of them."""

from attack import wrong

PROOF = "row_sums was called"
TEXT = r"""
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


def submission():
    return wrong(double=TEXT, row_sums="", biggest="")
