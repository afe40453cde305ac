"""Packs its reply as tens of millions of empty lists, which grow thirtyfold when they are read."""

import resource

from attack import wrong

MOST = 400  # MiB that reading replies may cost the grader
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


def prepare(folder, arena):
    arena.peak = _peak()


def submission():
    return wrong(double=HOSTILE)


def harm(arena):
    cost = _peak() - arena.peak
    return f"its reply cost the grader {cost:.0f} MiB" if cost > MOST else ""


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
