from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from compare_graders import OURS, STOCK, Graded, run_both

Once = Callable[[str, Callable[[Path], None]], Path]
OUR_COURSE = {"stock": STOCK, "ours": OURS}


@pytest.fixture(scope="session")
def graders(once: Once) -> dict[str, Graded]:
    """All assignments of `peer_courses` graded by stock nbgrader and by ours, once for all workers."""
    folder = once("peers", lambda root: run_both(root, ["peers"], OUR_COURSE))
    return {name: Graded(folder / name) for name in OUR_COURSE}


@pytest.fixture(scope="session")
def trait_graders(once: Once) -> dict[str, Graded]:
    """The same for the assignments of `trait_courses`."""
    folder = once("traits", lambda root: run_both(root, ["traits"]))
    return {name: Graded(folder / name) for name in OUR_COURSE}


@pytest.fixture(scope="session")
def points(graders: dict[str, Graded]) -> Callable[[str, str], tuple[float, int] | None]:
    """A work's points from a grader, and how many of its cells wait for someone to mark them."""

    def of(grader: str, work: str) -> tuple[float, int] | None:
        if work not in graders[grader].scores:
            return None
        grades = graders[grader].scores[work]["grades"].values()
        return sum(score or 0 for score, *_ in grades), sum(waits for *_, waits in grades)

    return of
