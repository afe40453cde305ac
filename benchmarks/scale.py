"""Whether a class of a thousand costs ten times a class of a hundred, and no memory.

    .venv/bin/python benchmarks/scale.py [100 1000] [--lesson 01_dot_product]

For each size a class as classes are (right work, mistakes, half-done and blank notebooks; no one
whose notebook waits for a limit) is graded by `attention-lab grade` in a process of its own, whose
memory is looked at while it runs: the coordinator's alone, not that of the workers. Then the same
command runs again, with nothing changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import psutil
import results
import typer
from class_runs import ATTENTION_LAB, run_logged
from courses import graded_notebook, hand_in, lesson_named, new_course, ordinary_class
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nbjudge.course import Assignment

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


def main(
    sizes: Annotated[
        list[int] | None, typer.Argument(help="Of the classes; 100 and 1000 by default.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="As `attention-lab grade` has it.")] = None,
    lesson: Annotated[str, typer.Option(help="The folder of the lesson.")] = "01_dot_product",
    output: Annotated[Path, typer.Option(help="Where the results go.")] = results.FOLDER / "scale.json",
) -> None:
    """Grade classes of several sizes; the last is compared with the first."""
    console = results.console()
    content = results.surroundings(console) | {"lesson": lesson}
    runs = [_measure(lesson_named(lesson), size, workers, console) for size in sizes or (100, 1000)]
    content["runs"] = [asdict(run) | {"seconds_a_submission": run.a_submission} for run in runs]
    content["ratios"] = _ratios(runs[0], runs[-1])
    results.show(console, content["runs"], f"Seconds, and bytes of the coordinator's memory, {lesson}")
    results.show(console, content["ratios"])
    results.write(output, content, console)


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
    """Run a command; returns its seconds and the peaks of its own resident and proportional memory."""
    resident = proportional = 0

    def look(process: psutil.Process) -> None:
        nonlocal resident, proportional
        show()
        used = process.memory_full_info()
        resident, proportional = max(resident, used.rss), max(proportional, used.pss)

    root = course.course.root
    return run_logged(command, root, root / "benchmark.log", look), resident, proportional


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


if __name__ == "__main__":
    typer.run(main)
