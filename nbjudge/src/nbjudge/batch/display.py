"""What the person who grades a class sees: a bar while it runs, a table when it is done."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from statistics import mean, median

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from nbjudge.batch.changed_submissions import Plan
from nbjudge.batch.coordinator import ClassRun, GradedSubmission
from nbjudge.kernel.timing import Costs
from nbjudge.plain_text import LONGEST_SENTENCE, plain_line

MOST_NAMES = 4  # of those in work that are shown at a time
MOST_LINES = 20  # of those that went wrong


class Bar(Progress):
    """A live bar: graded, failing, time left, whose work is being graded."""

    def __init__(self, console: Console, total: int) -> None:
        columns = (
            TextColumn("Grading"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failing]}"),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
        )
        super().__init__(*columns, console=console, transient=True)
        self._graded = self._failing = 0
        self._task = self.add_task("", total=total, failing="0 failing")

    def show(self, run: ClassRun, graded: GradedSubmission | None) -> None:
        """Take in one more result, or only the names of those in work."""
        if graded is not None:
            self._graded += 1
            self._failing += bool(graded.problem or graded.reason)
        names = [plain_line(student) for student in run.in_progress[:MOST_NAMES]]
        names += ["…"] * (len(run.in_progress) > MOST_NAMES)
        description = run.workers.obstacle() or ", ".join(names)
        self.update(
            self._task, completed=self._graded, description=description, failing=f"{self._failing} failing"
        )


def print_closing_table(
    console: Console, plan: Plan, results: Sequence[GradedSubmission], seconds: float, stopped: bool
) -> None:
    """What came of the run, by exercise, and who needs a look."""
    done = [graded for graded in results if not graded.problem]
    if any(notebook.verdicts for graded in done for notebook in graded.notebooks):
        console.print(_table(plan.assignment, done))
    for graded in islice((graded for graded in done if graded.reason), MOST_LINES):
        print_plain(console, f"0 points: {graded.student}: {graded.reason}", "yellow")
    for graded in islice((graded for graded in done if graded.remark), MOST_LINES):
        print_plain(console, f"remark: {graded.student}: {graded.remark}", "yellow")
    failed = [graded for graded in results if graded.problem and not stopped]
    for graded in failed[:MOST_LINES]:
        print_plain(console, f"✗ not graded: {graded.student}: {graded.problem}", "bold red")
    print_plain(console, _sentence(plan, done, seconds))
    if stopped:
        left = len(plan.todo) - len(done)
        console.print(f"[bold]Stopped: {left} to go.[/] The same command goes on from here.")


def print_timings(console: Console, costs: Costs, until_first: float, start: Costs) -> None:
    """Print where the time of a run went: the phases of its start, and those of its notebooks."""
    notebooks = costs.counts["notebooks"]
    table = Table(box=SIMPLE_HEAD, show_edge=False, title=f"Where the time of {notebooks} notebooks went")
    table.add_column("phase")
    for heading in ("seconds per notebook", "processor seconds"):
        table.add_column(heading, justify="right")
    for name, seconds in sorted(costs.seconds.items(), key=lambda phase: -phase[1]):
        table.add_row(name, f"{seconds / notebooks:.3f}", f"{costs.cpu_seconds[name] / notebooks:.3f}")
    table.add_row("(in the kernel)", "", f"{costs.kernel_cpu_seconds / notebooks:.3f}")
    console.print(table)
    names = ("kernels", "messages", "bytes sent")
    counts = ", ".join(f"{costs.counts[name] / notebooks:,.1f} {name}" for name in names)
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in start.seconds.items())
    console.print(f"Start: {until_first:.1f} s until the first notebook went to a worker ({phases}).")
    console.print(f"Per notebook: {counts}.")


def print_plain(console: Console, sentence: str, style: str = "") -> None:
    """Print a sentence that may hold a student's words: nothing in it is markup or for the terminal."""
    console.print(Text(plain_line(sentence, LONGEST_SENTENCE), style=style), soft_wrap=True)


def _table(assignment: str, done: Sequence[GradedSubmission]) -> Table:
    points: dict[str, list[float]] = {}
    max_points: dict[str, float] = {}
    for graded in done:
        for notebook in graded.notebooks:
            for exercise, verdict in notebook.verdicts.items():
                points.setdefault(exercise, []).append(verdict.points)
                max_points[exercise] = verdict.max_points
    table = Table(box=SIMPLE_HEAD, show_edge=False, title=Text(assignment, style="bold"))
    table.add_column("exercise")
    for heading in ("points", "mean", "all points", "some", "none"):
        table.add_column(heading, justify="right")
    for exercise, numbers in points.items():
        full = sum(number == max_points[exercise] for number in numbers)
        none = sum(number == 0 for number in numbers)
        counts = (full, len(numbers) - full - none, none)
        table.add_row(Text(exercise), f"{max_points[exercise]:g}", f"{mean(numbers):.1f}", *map(str, counts))
    return table


def _sentence(plan: Plan, done: Sequence[GradedSubmission], seconds: float) -> str:
    parts = [f"{plan.assignment}: {len(done)} graded in {seconds:.0f} s"]
    if done:
        parts[0] += f" ({median(graded.seconds for graded in done):.1f} s for the median notebook)"
    if plan.unchanged:
        parts.append(f"{plan.unchanged} unchanged since they were graded")
    return "; ".join(parts) + "."
