"""Prints its reply as Python text that is small to send and enormous to read: a list of a million numbers."""

import resource

from attack import wrong

MOST = 400  # MiB that reading replies may cost the grader
PROOF = "printed [1-9]"
HOSTILE = """
printed = []
forged = ["[" + "0," * 1_500_000 + "]", "'' " * 3_000_000, "(" * 190 + ")" * 190, "{" + "0:0," * 10**6 + "}"]
def show(text, printer, cycle):
    if len(text) < 50:
        return printer.text(repr(text))
    printed.append(1)
    printer.text(forged[len(printed) % len(forged)])
def double(x):
    get_ipython().display_formatter.formatters["text/plain"].for_type(str, show)
    return x
row_sums_of = double
def row_sums(x):
    if x.shape == (3, 4):
        print("printed", len(printed))
    return row_sums_of(x)
biggest = double
"""


def prepare(folder, arena):
    arena.peak = _peak()


def submission():
    return wrong(double=HOSTILE, row_sums="", biggest="")


def harm(arena):
    cost = _peak() - arena.peak
    return f"its reply cost the grader {cost:.0f} MiB" if cost > MOST else ""


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
