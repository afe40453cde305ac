"""Copies graded cells many times, each with a result of its own, and makes more of its own worth points."""

import copy

from attack import wrong
from nbformat.v4 import new_output
from tiny_course import cell_of


def submission():
    work = wrong()
    for name, points in (("double", 2), ("row_sums", 2), ("biggest", 1)):
        for place in (0, 5, len(work.cells)):
            forged = copy.deepcopy(cell_of(work, f"test_{name}"))
            forged.source = str(points)
            forged.outputs = [
                new_output("execute_result", data={"text/plain": str(points)}, execution_count=1)
            ]
            work.cells.insert(place, forged)
            more = copy.deepcopy(forged)
            more.id = more.metadata.nbgrader["grade_id"] = f"test_more_{name}_{place}"
            more.metadata.nbgrader["points"] = 100
            work.cells.insert(place, more)
    return work
