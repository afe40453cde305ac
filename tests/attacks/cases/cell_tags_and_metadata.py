"""Marks its cells as skipped, judged, worth a hundred points, and its notebook as another kernel's."""

from attack import wrong

FILES = {
    "kernels/mine/kernel.json": b'{"argv": ["touch", "mine"], "language": "python", "display_name": "x"}'
}
MARKS = {
    "tags": ["raises-exception", "skip-execution", "nbgrader-skip", "left-out-of-grading", "remove-cell"],
    "nbjudge": {"check": "biggest", "left_out": True, "points": 2},
    "deletable": True,
    "execution": {"timeout": 10**9},
}


def submission():
    work = wrong()
    for cell in work.cells:
        cell.metadata |= MARKS
        if "nbgrader" in cell.metadata:
            cell.metadata["nbgrader"] |= {"points": 100, "grade": False, "locked": False, "task": True}
    verdict = {"exercise": "double", "points": 2, "max_points": 2}
    work.metadata |= {
        "nbjudge": {"seed": 1, "reason": "", "points": verdict},
        "nbgrader": {"points": 5},
    }
    work.metadata["kernelspec"] = {
        "name": "../../../submitted/cell_tags_and_metadata/01_tiny/kernels/mine",
        "display_name": "<script>alert(2)</script>",
        "language": "bash",
        "argv": ["touch", "/tmp/mine"],
    }
    work.metadata["language_info"] = {"name": "bash", "version": [], "codemirror_mode": {"x": ["y"] * 100}}
    return work
