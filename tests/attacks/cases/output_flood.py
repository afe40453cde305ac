"""Prints and displays without end, in small pieces and in one of hundreds of megabytes."""

from attack import HASTY, wrong

LIMITS = HASTY
FLOOD = """
import os
from IPython.display import display
picture = {"image/png": "iVBORw0KGgo" + "A" * 2_000_000, "text/plain": "2", "text/html": "<b>2</b>" * 10_000}
def double(x):
    while True:
        print("2" * 1000)
        os.write(1, b"2" * 65_536)
def row_sums(x):
    print("2" * 300_000_000)
    return x
def biggest(x):
    shown = display(picture, raw=True, display_id=True)
    while True:
        display(picture, raw=True)
        shown.update(picture, raw=True)
"""


def submission():
    return wrong(double=FLOOD, row_sums="", biggest="")


def harm(arena):
    size = (arena.root / "autograded" / __name__ / "01_tiny" / "tiny.ipynb").stat().st_size
    return "" if size < 6 * 2**20 else f"its graded notebook has {size} bytes"
