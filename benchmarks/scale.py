"""Whether a class of a thousand costs ten times a class of a hundred, and no memory.

    .venv/bin/python benchmarks/scale.py [--sizes 100 1000] [--lesson 01_dot_product]

For each size a class as classes are (right work, mistakes, half-done and blank notebooks; no one
whose notebook waits for a limit) is graded by `attention-lab grade` in a process of its own, whose
memory is looked at while it runs: the coordinator's alone, not that of the workers. Then the same
command runs again, with nothing changed.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import results
from class_runs import ATTENTION_LAB, LAST_WORDS, environment
from courses import graded_notebook, hand_in, lesson_named, new_course, ordinary_class
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from nbjudge.course.course import Assignment

BETWEEN_LOOKS = 0.25  # seconds
MIB = 2**20
GOALS = {
    "peak memory": "at most 1.3",
    "seconds a submission": "at most 1.1",
    "seconds a submission, last tenth / first tenth": "",
}


@dataclass(frozen=True)
class Run:
    """One class: seconds, and the most memory (bytes) that the coordinator held."""

    students: int
    seconds: float
    peak_resident: int
    peak_proportional: int
    first_done: float  # seconds until the first notebook was done
    first_tenth: float  # seconds a submission, over the first tenth of the class that was done
    last_tenth: float
    unchanged_seconds: float = 0.0  # seconds of the same command with nothing changed

    @property
    def a_submission(self) -> float:
        return self.seconds / self.students


def main() -> None:
    arguments = _arguments()
    console = results.console()
    content = results.surroundings(console) | {"lesson": arguments.lesson}
    lesson = lesson_named(arguments.lesson)
    runs = [_measure(lesson, size, arguments.workers, console) for size in arguments.sizes]
    content |= {
        "runs": [asdict(run) | {"seconds_a_submission": run.a_submission} for run in runs],
        "ratios": _ratios(runs[0], runs[-1]),
    }
    _show(content, console)
    results.write(arguments.output, content, console)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100, 1000],
        help="the sizes of the classes; the last is compared with the first (100 1000)",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, help="as `attention-lab grade` has it (one a core)")
    parser.add_argument(
        "--lesson", default="01_dot_product", help="the folder of the lesson (01_dot_product)"
    )
    parser.add_argument(
        "--output", type=Path, default=results.FOLDER / "scale.json", help="where the results go"
    )
    arguments = parser.parse_args()
    if min(arguments.sizes) < 2:
        parser.error("--sizes: a class has at least two students")
    return arguments


def _measure(lesson: Assignment, size: int, workers: int | None, console: Console) -> Run:
    """Grade a class of `size` twice, the second time with nothing changed."""
    with TemporaryDirectory(prefix="attention-lab-benchmark-") as folder:
        course = new_course(Path(folder), lesson)
        hand_ins = ordinary_class(course, size)
        with console.status(f"{size} students hand in …"):
            hand_in(course, hand_ins, hand_ins)
        columns = (TextColumn("Grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        command = [ATTENTION_LAB, "grade", course.folder, *(["--workers", str(workers)] if workers else [])]
        started = time.time()
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("", total=size)
            autograded = course.course.folders.by_step()["autograded"]

            def show() -> None:
                begun = sum(1 for _ in autograded.iterdir()) if autograded.is_dir() else 0
                progress.update(task, completed=begun)

            seconds, resident, proportional = _watched(command, course, show)
        moments = sorted(graded_notebook(course, name).stat().st_mtime - started for name in hand_ins)
        tenth = max(1, size // 10)
        run = Run(
            size,
            seconds,
            resident,
            proportional,
            first_done=moments[0],
            first_tenth=(moments[tenth] - moments[0]) / tenth,
            last_tenth=(moments[-1] - moments[-1 - tenth]) / tenth,
        )
        with console.status("The same again, with nothing changed …"):
            return replace(run, unchanged_seconds=_watched(command, course, lambda: None)[0])


def _watched(command: list[str], course: Assignment, show: Callable[[], None]) -> tuple[float, int, int]:
    """Run a command; returns its seconds and the peaks of its own resident and proportional memory.

    Raises SystemExit, with the command's last words, where it fails.
    """
    log = course.course.root / "benchmark.log"
    resident = proportional = 0
    with open(log, "w", encoding="utf-8") as log_file:
        started = time.perf_counter()
        process = psutil.Popen(
            command, cwd=course.course.root, stdout=log_file, stderr=log_file, env=environment()
        )
        while True:
            try:
                process.wait(BETWEEN_LOOKS)
                break
            except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
                show()
            try:
                used = process.memory_full_info()
            except psutil.Error:  # it has just ended
                continue
            resident, proportional = max(resident, used.rss), max(proportional, used.pss)
        seconds = time.perf_counter() - started
    if process.returncode != 0:
        raise SystemExit(
            f"`{' '.join(command)}` ended with {process.returncode}. Its last words:\n"
            f"{log.read_text(errors='replace')[-LAST_WORDS:]}"
        )
    return seconds, resident, proportional


def _ratios(small: Run, large: Run) -> list[dict[str, Any]]:
    values = (
        large.peak_resident / small.peak_resident,
        large.a_submission / small.a_submission,
        large.last_tenth / large.first_tenth,
    )
    return [
        {"ratio": f"{name}, {large.students} / {small.students}" if goal else f"{name}, {large.students}",
         "value": value, "goal": goal}
        for (name, goal), value in zip(GOALS.items(), values, strict=True)
    ]  # fmt: skip


def _show(content: dict[str, Any], console: Console) -> None:
    table = Table(
        "students", "seconds", "a submission", "until the first is done", "nothing changed: seconds",
        "peak memory, MiB (proportional)", title=f"{content['lesson']}, the coordinator's memory",
    )  # fmt: skip
    for run in content["runs"]:
        table.add_row(
            str(run["students"]),
            f"{run['seconds']:.1f}",
            f"{run['seconds_a_submission']:.3f}",
            f"{run['first_done']:.1f}",
            f"{run['unchanged_seconds']:.2f} (goal: under 2)",
            f"{run['peak_resident'] / MIB:.0f} ({run['peak_proportional'] / MIB:.0f})",
        )
    ratios = Table("ratio", "", "goal")
    for each in content["ratios"]:
        ratios.add_row(each["ratio"], f"{each['value']:.2f}", each["goal"])
    console.print(table)
    console.print(ratios)


if __name__ == "__main__":
    main()
