"""Hands in notebooks of formats from long ago, which take the longer to be converted the more they hold."""

import json

REASON = "more than the 5,000"
MOST_MEMORY = 500  # MiB
CELL = {"cell_type": "code", "input": "1", "language": "python", "outputs": [], "metadata": {}}


def _sheets(*sheets, version=3):
    return json.dumps(
        {"nbformat": version, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets}
    )


def prepare(folder):
    for name, content in {
        "a": _sheets({"cells": [{"cell_type": "zzz"}] * 100_000, "metadata": {}}),
        "b": _sheets(*[{"cells": [CELL] * 400, "metadata": {}}] * 100),
        "c": _sheets({"cells": [CELL] * 60_000}, version=2),
        "d": _sheets({"cells": {"0": [CELL] * 60_000}}),
    }.items():
        (folder / f"{name}.ipynb").write_text(content)


def submission():
    return _sheets({"cells": [CELL] * 60_000, "metadata": {}}).encode()
