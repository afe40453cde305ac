"""Hands in notebooks of formats from long ago, which take the longer to be converted the more they hold."""

import json
import resource

MOST = 500  # MiB that reading it may cost the grader
CELL = {"cell_type": "code", "input": "1", "language": "python", "outputs": [], "metadata": {}}


def _sheets(*sheets, version=3):
    return json.dumps(
        {"nbformat": version, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets}
    )


def prepare(folder, arena):
    arena.peak = _peak()
    for name, content in {
        "a": _sheets({"cells": [{"cell_type": "zzz"}] * 100_000, "metadata": {}}),
        "b": _sheets(*[{"cells": [CELL] * 400, "metadata": {}}] * 100),
        "c": _sheets({"cells": [CELL] * 60_000}, version=2),
        "d": _sheets({"cells": {"0": [CELL] * 60_000}}),
    }.items():
        (folder / f"{name}.ipynb").write_text(content)


def submission():
    return _sheets({"cells": [CELL] * 60_000, "metadata": {}}).encode()


def harm(arena):
    cost = _peak() - arena.peak
    if "more than the 5,000" not in arena.graded.reason(__name__, "double"):
        return f"it is said to be {arena.graded.reason(__name__, 'double')}"
    return f"reading it cost the grader {cost:.0f} MiB" if cost > MOST else ""


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
