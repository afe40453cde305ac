"""How fast a class is graded on two cores: nbgrader's command, ours, the bare limit, one Dask worker and two.

    .venv/bin/python benchmarks/class.py [--students 60] [--stock-students 12] [--figure-only]

- stock: `nbgrader autograde` without the plug-in; the hidden regions call `check` in the kernel.
- ours: `attention-lab grade --workers 2`.
- limit: the cells that ours runs, in forks of two warm Python processes, and no more.
- limit of 1: the same with one process. What the limit gains from the second one is what two
  workers can gain on this machine, whose cores may be two halves of one.
- cluster of 1, of 2: `attention-lab grade --scheduler` with one Dask worker, and with two.

The class, which has everything right in ways of its own, is cut into blocks; each block goes through
every grader in turn, so that whatever else slows the machine hits all alike. A grader is started
again for each block. Its start (until the first notebook is done, less what a notebook takes) is
measured apart and counted once for the class, as one command would have it.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import results
from class_blocks import (
    CORES,
    LIMIT,
    LIMIT_OF_ONE,
    ONE,
    OURS,
    RUNS,
    STOCK,
    TWO,
    ClassSize,
    class_figures,
    measure,
)
from class_figure import draw
from courses import ROOT, lesson_named
from rich.console import Console
from rich.table import Table

RATIOS = {
    (STOCK, OURS): "at least 20",
    (OURS, LIMIT): "at most 2",
    (ONE, TWO): "at least 1.8",
    (LIMIT_OF_ONE, LIMIT): "",
}


def main() -> None:
    arguments = _arguments()
    by_stock = arguments.students if arguments.stock_students is None else arguments.stock_students
    size = ClassSize(arguments.students, by_stock, arguments.blocks)
    console = results.console()
    if not arguments.figure_only:
        content = results.surroundings(console) | {"lesson": arguments.lesson, "students": arguments.students}
        # On a larger machine, too, everything is measured on as many cores as the goals speak of.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
        with TemporaryDirectory(prefix="attention-lab-benchmark-") as folder:
            lesson = lesson_named(arguments.lesson)
            blocks = measure(Path(folder), lesson, list(RUNS), size, console)
        content |= {"cores_used": CORES, "graders": class_figures(blocks, arguments.students)}
        content["ratios"] = _ratios(content["graders"])
        _show(content, console)
        results.write(arguments.output, content, console)
    draw(results.read(arguments.output), arguments.figure)
    console.print(f"Drawn: {arguments.figure}.", soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--students", type=int, default=60, help="the size of the class (60)")
    parser.add_argument(
        "--stock-students", type=int, help="how many of them stock grades, some of each block (all)"
    )
    parser.add_argument("--blocks", type=int, default=3, help="how many blocks the class is cut into (3)")
    parser.add_argument("--lesson", default="02_scaling", help="the folder of the lesson (02_scaling)")
    parser.add_argument(
        "--output", type=Path, default=results.FOLDER / "class.json", help="where the results go"
    )
    parser.add_argument(
        "--figure", type=Path, default=ROOT / "docs" / "images" / "class.svg", help="where the figure goes"
    )
    parser.add_argument("--figure-only", action="store_true", help="draw the figure from earlier results")
    return parser.parse_args()


def _ratios(graders: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for (one, other), goal in RATIOS.items():
        first, second = graders[one], graders[other]
        pairs = zip(first["seconds_a_notebook"], second["seconds_a_notebook"], strict=True)
        found.append(
            {
                "ratio": f"{one} / {other}",
                "class_with_starts": first["seconds"] / second["seconds"],
                "without_starts": results.spread([left / right for left, right in pairs]),
                "goal": goal,
            }
        )
    return found


def _show(content: dict[str, Any], console: Console) -> None:
    table = Table(
        "", "start", "the class, start included", "a notebook, without: median (quartiles) of the blocks",
        title=f"Seconds, {content['students']} notebooks of {content['lesson']} on {CORES} cores",
    )  # fmt: skip
    for name, figures in content["graders"].items():
        part = f" (from {figures['graded']})" if figures["graded"] < content["students"] else ""
        table.add_row(
            name,
            f"{figures['start_up_seconds']:.1f}",
            f"{figures['seconds']:.1f}{part}",
            results.spread(figures["seconds_a_notebook"]).show(),
        )
    ratios = Table("ratio", "class, starts included", "without: median (quartiles) of the blocks", "goal")
    for each in content["ratios"]:
        whole = f"{each['class_with_starts']:.2f}"
        ratios.add_row(each["ratio"], whole, each["without_starts"].show(), each["goal"])
    console.print(table)
    console.print(ratios)


if __name__ == "__main__":
    main()
