"""Gives cells each other's names, the grader's, and names that are no text or far too long."""

from attack import wrong
from tiny_course import cell_of


def submission():
    work = wrong()
    cell_of(work, "double").metadata.nbgrader["grade_id"] = "test_double"
    cell_of(work, "test_double").metadata.nbgrader["grade_id"] = "double"
    cell_of(work, "row_sums").metadata.nbgrader["grade_id"] = ["test_row_sums"]
    cell_of(work, "test_biggest").metadata.nbgrader["grade_id"] = "x" * 10**6
    for cell_id, name in (
        ("title", "from-the-grader"),
        ("shown", "own-1-1"),
        ("end", "biggest"),
        ("setup", "</a>"),
    ):
        cell_of(work, cell_id)["id"] = name
    return work
