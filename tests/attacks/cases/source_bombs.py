"""Hands in code that takes gigabytes or hours to be read as code: by the grader, before any of it runs."""

from attack import IMPATIENT
from nbformat.v4 import new_code_cell
from tiny_course import after, answered

LIMITS = IMPATIENT | {"notebook_seconds": 20}
BOMBS = {
    "statements": "a;" * 200_000, "dots": "a" + ".a" * 60_000, "sums": "+".join("1" * 50_000),
    "lists": "[" * 100_000,
    "signs": "-" * 200_000 + "1", "quotes": "'''" * 50_000, "strings": '"' * 100_001, "colons": ":" * 100_000,
    "functions": "\n".join(f"def double{n}(): pass" for n in range(5_000)),
    "nested": "if 1:\n " * 99,
    "names": "def double(x):\n    return " + "x if x else " * 20_000 + "x", "lines": "\n" * 200_000,
    "decorators": "@double\n" * 20_000 + "def double(x): return x", "hex": "0x" + "f" * 200_000,
    "power": "9**9**9", "doubles": "def double(x):\n    return " + "(" * 90 + "x" + ")" * 90,
}  # fmt: skip


def submission():
    work = answered(double="", row_sums="", biggest="")
    for number, bomb in enumerate(BOMBS.values()):
        work = after(work, "end" if number % 2 else "setup", new_code_cell(bomb))
    return work
