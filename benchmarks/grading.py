"""How fast a notebook is graded: stock nbgrader, this grader, and the bare limit, turn about in one run.

    .venv/bin/python benchmarks/grading.py [--students 30] [--lesson 02_scaling]

- stock: `nbgrader autograde` without the plug-in; the hidden regions call `check` in the kernel.
- ours: `nbgrader autograde` as this course sets it up, sandbox and judge included.
- limit: the same cells executed in a fork of an already warm Python, figures rendered, and no more.

Each grader is one process that lives for the whole class. Its own start (imports, the warm
interpreter) is measured apart and shared out among the class. One worker each, one thread each.
"""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

from contenders import Contender, class_of, start
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).parents[1]
GOALS = {"stock / ours": "at least 6", "ours / limit": "at most 2"}


def main() -> None:
    arguments = _arguments()
    console = Console()
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with TemporaryDirectory(prefix="attention-lab-benchmark-") as folder:
        students = class_of(Path(folder), ROOT, arguments.lesson, arguments.students)
        names = ("stock", "ours", "limit")
        contenders = {name: start(name, Path(folder), arguments.lesson) for name in names}
        for student in track(students, "Grading", console=console, transient=True):
            for contender in contenders.values():
                contender.grade(student)
        console.print(_table(contenders, arguments.lesson))
        console.print(_ratios(contenders))
        console.print(_memory(contenders))
        for contender in contenders.values():
            contender.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--students", type=int, default=30, help="the size of the class (30)")
    parser.add_argument("--lesson", default="02_scaling", help="the folder of the lesson (02_scaling)")
    return parser.parse_args()


def _table(contenders: dict[str, Contender], lesson: str) -> Table:
    count = len(contenders["ours"].seconds)
    table = Table("", "start", "a notebook (median)", "quartiles", "with its share of the start",
                  title=f"Seconds, {count} notebooks of {lesson}")  # fmt: skip
    for name, contender in contenders.items():
        low, middle, high = statistics.quantiles(contender.seconds, n=4)
        table.add_row(name, f"{contender.start_seconds:.1f}", f"{middle:.2f}", f"{low:.2f} to {high:.2f}",
                      f"{contender.mean:.2f}")  # fmt: skip
    return table


def _ratios(contenders: dict[str, Contender]) -> Table:
    table = Table("ratio", "median", "quartiles", "whole class, starts included", "goal")
    for ratio, goal in GOALS.items():
        one, other = (contenders[name] for name in ratio.split(" / "))
        each = [mine / theirs for mine, theirs in zip(one.seconds, other.seconds, strict=True)]
        low, middle, high = statistics.quantiles(each, n=4)
        table.add_row(
            ratio, f"{middle:.1f}", f"{low:.1f} to {high:.1f}", f"{one.mean / other.mean:.1f}", goal
        )
    return table


def _memory(contenders: dict[str, Contender]) -> Table:
    table = Table(
        "", "its own", "proportional set size", title="MiB, peak of the process that runs a notebook"
    )
    for name, contender in contenders.items():
        own, proportional = (max(values) / 2**20 for values in zip(*contender.memory, strict=True))
        table.add_row(name, f"{own:.0f}", f"{proportional:.0f}")
    return table


if __name__ == "__main__":
    main()
