"""How fast each lesson is graded, nbgrader's command beside ours: a class of 60, from a part of it.

    .venv/bin/python benchmarks/lessons.py [--students 12] [--stock-students 2] [--lesson 03_mask …]

As `class.py`, for every lesson. Stock grades two students and ours twelve; what a start and a
notebook take makes the seconds of a class of 60, with one start.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import results
from class_blocks import CORES, OURS, STOCK, ClassSize, class_figures, measure
from courses import ROOT, lesson_named
from rich.table import Table

from nbjudge.course.course import Course

CLASS = 60
GOAL = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--students", type=int, default=12, help="how many ours grades (12)")
    parser.add_argument("--stock-students", type=int, default=2, help="how many stock grades (2)")
    parser.add_argument("--blocks", type=int, default=1, help="how many blocks they are cut into (1)")
    parser.add_argument("--lesson", nargs="+", help="their folders (all that have an exercise)")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "lessons.json")
    options = parser.parse_args()
    size = ClassSize(options.students, options.stock_students, options.blocks)
    console = results.console()
    content = results.surroundings(console) | {"students": CLASS}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    lessons = [each.folder for each in Course(ROOT).assignments.values() if each.exercises]
    rows: dict[str, Any] = {}
    table = Table(
        "", "stock: start", "a notebook", "ours: start", "a notebook", f"a class of {CLASS}, with starts",
        title=f"Seconds on {CORES} cores; stock / ours, the goal is at least {GOAL}",
    )  # fmt: skip
    for name in options.lesson or lessons:
        with TemporaryDirectory(prefix="attention-lab-benchmark-") as folder:
            taken = measure(Path(folder), lesson_named(name), (STOCK, OURS), size, console)
        rows[name] = figures = class_figures(taken, CLASS)
        seconds = [figures[grader]["seconds"] for grader in (STOCK, OURS)]
        cells = [
            f"{value:.2f}"
            for grader in (STOCK, OURS)
            for value in (
                figures[grader]["start_up_seconds"],
                results.spread(figures[grader]["seconds_a_notebook"]).median,
            )
        ]
        table.add_row(name, *cells, f"{seconds[0]:.0f} / {seconds[1]:.0f} = {seconds[0] / seconds[1]:.1f}")
        console.print(f"{name}: {seconds[0] / seconds[1]:.1f} times stock")
        results.write(options.output, content | {"lessons": rows}, console)
    console.print(table)


if __name__ == "__main__":
    main()
