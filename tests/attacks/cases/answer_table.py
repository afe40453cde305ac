"""Keeps every question on disk, to answer from that table later, and guesses the seed of the next."""

from attack import wrong
from tiny_course import after, answered

PROOF = "asked before: 0(.|\n)*guessed None"
TABLE = """
import os, pickle
places = [os.path.expanduser("~/table"), "/tmp/table", "/dev/shm/table", "/var/tmp/table", "table"]
table, guessed = {}, None
for place in places:
    if os.path.exists(place):
        table |= pickle.load(open(place, "rb"))
print("asked before:", len(table))
"""
REMEMBER = """
def double(x):
    global guessed
    key = tuple(x.detach().flatten().tolist())
    known = table.get(key)
    table[key] = 2 * x.detach()
    for place in places:
        try:
            pickle.dump(table, open(place, "wb"))
        except OSError:
            pass
    for seed in (torch.initial_seed(), *range(100), 42, 1234):
        generator = torch.Generator().manual_seed(seed)
        torch.randperm(12, generator=generator)
        draw = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x.dtype)
        guessed = seed if torch.equal(draw, x.detach()) else guessed
    return x if known is None else known
def row_sums(x):
    print("guessed", guessed)
    return x.sum()
"""


def submission():
    return wrong(double=TABLE + REMEMBER, row_sums="")


def neighbour():
    return after(answered(), "setup", TABLE)


def harm(arena):
    shown = arena.shown(f"after_{__name__}")
    return "" if "asked before: 0" in shown else "the next notebook found the table"
