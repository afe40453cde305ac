"""Packs its reply as tens of millions of empty lists, which grow thirtyfold when they are read."""

from attack import wrong

DAILY = "hostile_printing"
MOST_MEMORY = 400  # MiB
HOSTILE = """
import json
forged = ["[" + "[]," * 10**7 + "[]]", "[" + "1e9," * 10**7 + "1]", '{"":0,' * 990]
turn, real = [0], json.dumps
def dumps(tree, **options):
    turn[0] += 1
    return real(tree, **options) if options else forged[turn[0] % 3]
json.dumps = dumps
def double(x):
    return x
"""


def submission():
    return wrong(double=HOSTILE)
