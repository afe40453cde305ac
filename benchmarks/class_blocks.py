"""A class cut into blocks, each of which goes through every grader in turn; and what that took."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from class_runs import Block, run_cluster, run_limit, run_ours, run_stock
from courses import hand_in, in_course, new_course, not_in_full, right_class
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from nbjudge.course.course import Assignment

CORES = 2
STOCK, OURS, LIMIT, LIMIT_OF_ONE = "stock", "ours", "limit", "limit of 1"
ONE, TWO = "cluster of 1", "cluster of 2"
RUNS: dict[str, Callable[[Assignment, list[str], Path], Block]] = {
    STOCK: run_stock,
    OURS: partial(run_ours, workers=CORES),
    LIMIT: partial(run_limit, workers=CORES),
    LIMIT_OF_ONE: partial(run_limit, workers=1),
    ONE: partial(run_cluster, workers=1),
    TWO: partial(run_cluster, workers=2),
}


@dataclass(frozen=True)
class ClassSize:
    """How many students there are, how many of them stock grades, and in how many blocks."""

    students: int
    by_stock: int
    blocks: int

    def __post_init__(self) -> None:
        if not 2 * self.blocks <= self.by_stock <= self.students or self.blocks < 1:
            raise SystemExit(
                "Every block needs at least two students, for stock as well: more of them, or fewer blocks."
            )


def measure(
    folder: Path, lesson: Assignment, graders: Sequence[str], size: ClassSize, console: Console
) -> dict[str, list[Block]]:
    """The class through each grader, block by block.

    Raises SystemExit where a grader takes points from anybody.
    """
    with console.status("Making the courses and the class …"):
        courses = _courses(folder, lesson, graders)
        hand_ins = right_class(courses[OURS], size.students)
    students, taken = list(hand_ins), dict[str, list[Block]]()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=size.blocks * len(graders))
        for number in range(size.blocks):
            for name in graders:
                block = students[number :: size.blocks]
                if name == STOCK:
                    block = block[: len(range(number, size.by_stock, size.blocks))]
                progress.update(task, description=f"{lesson.folder}, block {number + 1}, {name}")
                hand_in(courses[name], hand_ins, block)
                taken.setdefault(name, []).append(RUNS[name](courses[name], block, folder / f"{name}.log"))
                if name not in (LIMIT, LIMIT_OF_ONE) and (missed := not_in_full(courses[name], block)):
                    raise SystemExit(
                        f"{name} does not give all points to {len(missed)} of {len(block)} ({missed[0]} "
                        "is the first): its seconds mean nothing."
                    )
                progress.advance(task)
    return taken


def _courses(folder: Path, lesson: Assignment, graders: Sequence[str]) -> dict[str, Assignment]:
    """A course for each grader: no one finds what another has done."""
    courses = {name: new_course(folder / name, lesson, name == STOCK) for name in (STOCK, OURS)}
    for name in set(graders) - courses.keys():
        shutil.copytree(folder / OURS, folder / name)
        courses[name] = in_course(folder / name, lesson)
    return courses


def class_figures(blocks: dict[str, list[Block]], students: int) -> dict[str, Any]:
    """By grader: seconds of the class with one start, those of a notebook, and what they come from."""
    found = {}
    for name, taken in blocks.items():
        graded, start_up = sum(block.students for block in taken), median(block.start_up for block in taken)
        work = sum(block.work for block in taken) / graded * students
        found[name] = {
            "start_up_seconds": start_up,
            "seconds": start_up + work,
            "seconds_a_notebook": [block.work / block.students for block in taken],
            "graded": graded,
            "blocks": [
                {"students": block.students, "seconds": block.seconds, "start_up_seconds": block.start_up}
                for block in taken
            ],
        }
    return found
