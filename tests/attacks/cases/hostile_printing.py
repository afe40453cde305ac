"""Prints its reply as Python text that is small to send and enormous to read: a list of a million numbers."""

from attack import wrong

MOST_MEMORY = 400  # MiB
PROOF = "printed [1-9]"
HOSTILE = """
printed = []
forged = ["[" + "0," * 1_500_000 + "]", "'' " * 3_000_000, "(" * 190 + ")" * 190, "{" + "0:0," * 10**6 + "}"]
def show(value):
    text = repr(value)
    if len(text) > 50:
        printed.append(1)
        text = forged[len(printed) % len(forged)]
    return {"text/plain": text}, {}
def double(x):
    get_ipython().display_formatter.format = show
    return x
row_sums_of = double
def row_sums(x):
    if x.shape == (3, 4):
        print("printed", len(printed))
    return row_sums_of(x)
biggest = double
"""


def submission():
    return wrong(double=HOSTILE, row_sums="", biggest="")
