"""How fast a notebook is graded: stock nbgrader, this grader, and the bare limit, turn about in one run.

    .venv/bin/python benchmarks/grading.py [--students 30] [--lesson 02_scaling]

- stock: `nbgrader autograde` without the plug-in; the hidden regions call `check` in the kernel.
- ours: `nbgrader autograde` as this course sets it up, sandbox and judge included.
- limit: the cells that ours runs, executed in a fork of an already warm Python, figures rendered,
  and no more; nothing is judged.
- limit, judged: the same cells, and after each exercise what `check` does, in the same process.
- limit, all cells: the cells that grading leaves out as well, which stock runs; nothing is judged.

All grade the same notebooks, by students who have everything right in ways of their own. Each
grader is one process that lives for the whole class. Its own start (imports, the fork server)
is measured apart and shared out among the class. One worker each, one thread each.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import results
from bare_limit import ALL_CELLS, JUDGED, SAME_CELLS
from contenders import Contender, start
from courses import hand_in, lesson_named, new_course, not_in_full, right_class
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

STOCK, OURS = "stock", "ours"
NAMES = (STOCK, OURS, SAME_CELLS, JUDGED, ALL_CELLS)
RATIOS = {
    (STOCK, OURS): "at least 6",
    (OURS, SAME_CELLS): "at most 2",
    (OURS, JUDGED): "",
    (OURS, ALL_CELLS): "",
    (STOCK, ALL_CELLS): "",
}
WEIGHED = 3  # notebooks whose memory is looked at, after the timed ones; of stock's, the first
MIB = 2**20


def main() -> None:
    arguments = _arguments()
    console = results.console()
    about = results.surroundings(console) | {"lesson": arguments.lesson, "students": arguments.students}
    with TemporaryDirectory(prefix="attention-lab-benchmark-") as folder:
        contenders = _measure(Path(folder), arguments.lesson, arguments.students, console)
    content = about | {"contenders": _figures(contenders), "ratios": _ratios(contenders)}
    _show(content, console)
    results.write(arguments.output, content, console)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--students", type=int, default=30, help="the size of the class (30)")
    parser.add_argument("--lesson", default="02_scaling", help="the folder of the lesson (02_scaling)")
    parser.add_argument(
        "--output", type=Path, default=results.FOLDER / "grading.json", help="where the results go"
    )
    arguments = parser.parse_args()
    if arguments.students < 1:
        parser.error("--students must be at least 1")
    return arguments


def _measure(folder: Path, name: str, count: int, console: Console) -> dict[str, Contender]:
    lesson = lesson_named(name)
    with console.status("Making two courses and a class …"):
        courses = {grader: new_course(folder / grader, lesson, grader == STOCK) for grader in (STOCK, OURS)}
        hand_ins = right_class(courses[OURS], count)
        for course in courses.values():
            hand_in(course, hand_ins, hand_ins)
    students, log = list(hand_ins), folder / "log"
    contenders: dict[str, Contender] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            rounds = 1 + count + WEIGHED
            task = progress.add_task("Starting", total=rounds * len(NAMES) - WEIGHED)
            # One after the other: each start is measured.
            for each in NAMES:
                contenders[each] = start(each, courses.get(each, courses[OURS]), log, slow=each == STOCK)
                contenders[each].begin(students[0])
                progress.advance(task)
            for student in students:
                for each, contender in contenders.items():
                    progress.update(task, description=f"{student}, {each}")
                    contender.grade(student)
                    progress.advance(task)
            for number in range(WEIGHED):
                for each, contender in contenders.items():
                    if not contender.slow:
                        progress.update(task, description=f"Memory, {each}")
                        contender.weigh(students[number % count])
                        progress.advance(task)
    except SystemExit:
        console.print("".join(log.read_text().splitlines(keepends=True)[-20:]), markup=False)
        raise
    finally:
        for contender in contenders.values():
            contender.stop()
    for grader, course in courses.items():
        if missed := not_in_full(course, students):
            raise SystemExit(
                f"{grader} does not give all points to {len(missed)} of {count} ({missed[0]} is the "
                "first): its seconds mean nothing."
            )
    return contenders


def _figures(contenders: dict[str, Contender]) -> dict[str, Any]:
    return {
        name: {
            "start_up_seconds": contender.start_up,
            "seconds": contender.seconds,
            "spread": results.spread(contender.seconds),
            "mean_with_its_share_of_the_start": mean(contender.seconds) + _share(contender),
            "peak_own_mib": max(contender.own) / MIB,
            "peak_proportional_mib": max(contender.proportional) / MIB,
        }
        for name, contender in contenders.items()
    }


def _ratios(contenders: dict[str, Contender]) -> list[dict[str, Any]]:
    """Notebook by notebook, and for the whole class with the starts."""
    found = []
    for (one, other), goal in RATIOS.items():
        first, second = contenders[one], contenders[other]
        pairs = zip(first.seconds, second.seconds, strict=True)
        whole = (mean(first.seconds) + _share(first)) / (mean(second.seconds) + _share(second))
        found.append(
            {
                "ratio": f"{one} / {other}",
                "spread": results.spread([left / right for left, right in pairs]),
                "whole_class_with_starts": whole,
                "goal": goal,
            }
        )
    return found


def _share(contender: Contender) -> float:
    return contender.start_up / len(contender.seconds)


def _show(content: dict[str, Any], console: Console) -> None:
    table = Table(
        "", "start", "a notebook: median (quartiles)", "mean, with its share of the start",
        title=f"Seconds, {content['students']} notebooks of {content['lesson']}",
    )  # fmt: skip
    memory = Table(
        "", "beyond what the fork shares", "proportional set size",
        title="MiB, peak of the process that runs a notebook",
    )  # fmt: skip
    for name, figures in content["contenders"].items():
        table.add_row(
            name,
            f"{figures['start_up_seconds']:.1f}",
            figures["spread"].show(),
            f"{figures['mean_with_its_share_of_the_start']:.2f}",
        )
        own, proportional = figures["peak_own_mib"], figures["peak_proportional_mib"]
        memory.add_row(name, f"{own:.0f}", f"{proportional:.0f}")
    ratios = Table("ratio", "median (quartiles), by notebook", "whole class, starts included", "goal")
    for each in content["ratios"]:
        whole = f"{each['whole_class_with_starts']:.2f}"
        ratios.add_row(each["ratio"], each["spread"].show(), whole, each["goal"])
    for shown in (table, ratios, memory):
        console.print(shown)


if __name__ == "__main__":
    main()
