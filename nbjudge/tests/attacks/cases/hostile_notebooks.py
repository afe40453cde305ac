"""Notebooks that are too large, or of no valid form."""

import copy
import json

from attack import HASTY, Attack, wrong
from tiny_course import cell_of


class GiantNotebook(Attack):
    """Hands in a thousand slow copies of an answer, inside many megabytes of metadata."""

    limits = HASTY

    def submission(self, arena):
        work = wrong()
        slow = cell_of(work, "double")
        for number in range(1_000):
            another = copy.deepcopy(slow)
            another.source = f"import time\ntime.sleep(0.1)\nnumber = {number}\n{slow.source}"
            work.cells.append(another)
        work.metadata["x"] = {str(n): ["y" * 100] * 10 for n in range(6_000)}
        slow.source += "\n# " + "z" * 4 * 2**20
        return json.dumps(work).encode()


def _sheets(*sheets, version=3):
    return json.dumps(
        {"nbformat": version, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets}
    )


class OldFormats(Attack):
    """Hands in notebooks of formats from long ago, which take long to be converted."""

    reason = "more than the 5,000"
    most_memory = 500  # MiB
    CELL = {"cell_type": "code", "input": "1", "language": "python", "outputs": [], "metadata": {}}

    def prepare(self, folder, arena):
        for name, content in {
            "a": _sheets({"cells": [{"cell_type": "zzz"}] * 100_000, "metadata": {}}),
            "b": _sheets(*[{"cells": [self.CELL] * 400, "metadata": {}}] * 100),
            "c": _sheets({"cells": [self.CELL] * 60_000}, version=2),
            "d": _sheets({"cells": {"0": [self.CELL] * 60_000}}),
        }.items():
            (folder / f"{name}.ipynb").write_text(content)

    def submission(self, arena):
        return _sheets({"cells": [self.CELL] * 60_000, "metadata": {}}).encode()
