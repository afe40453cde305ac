"""Hands in a notebook whose metadata hold millions of names: small in a file, large in memory."""

import resource

MOST = 700  # MiB that reading it may cost the grader


def prepare(folder, arena):
    arena.peak = _peak()


def submission():
    names = ",".join(f'"{number:x}":1' for number in range(2_900_000))
    return ('{"cells":[],"nbformat":4,"metadata":{"x":"\U0001f642",' + names + "}}").encode()


def harm(arena):
    cost = _peak() - arena.peak
    if "holds more entries than any notebook" not in arena.graded.reason(__name__, "double"):
        return f"it is said to be {arena.graded.reason(__name__, 'double')}"
    return f"reading it cost the grader {cost:.0f} MiB" if cost > MOST else ""


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
