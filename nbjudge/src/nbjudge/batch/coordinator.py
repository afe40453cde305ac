"""The coordinator: submissions go out to the workers, and what comes back is recorded by one hand.

The person who grades sees a bar while it runs, and a table when it is done.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import chdir
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from traitlets.config import Config

from nbjudge.batch import GradingFailedError
from nbjudge.batch.changed_submissions import Plan
from nbjudge.batch.workers import LocalWorkers
from nbjudge.course.folders import invalid_id_reason
from nbjudge.course.gradebook import GRADES_ARE_KEPT
from nbjudge.errors import CourseError, GradingStoppedError, WorkerDiedError
from nbjudge.grading.job import Executor, GradingJob, GradingResult
from nbjudge.kernel.timing import Costs
from nbjudge.nbgrader_hooks.autograde import JudgedAutograde
from nbjudge.plain_text import LONGEST_SENTENCE, TRACEBACK, keep_plain, plain_line, words_of_failure
from nbjudge.record.graded_notebook import GradedNotebook, read_graded

if TYPE_CHECKING:
    from nbjudge.batch.cluster import ClusterWorkers

MAX_SUBMISSIONS_AT_WORK = 512  # submissions out at work, on however many workers
NO_RECORD = "nbgrader left no graded notebook; the log says why"
NBGRADER, WAIT = "nbgrader: read, merge, record", "wait for a worker"  # phases of the coordinator
POLL_SECONDS = 0.5  # seconds after which it is seen that a worker came or left
FAILED = "nbgrader could not grade it; the log says why"


class Autograder:
    """Sends the submissions to one assignment through nbgrader's `Autograde`, one by one."""

    def __init__(self, config: Config, root: Path, assignment: str, log: Path) -> None:
        self._config, self._root, self._assignment = config, root, assignment
        self._handler = logging.FileHandler(log, encoding="utf-8")
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        # Those of the libraries would tear the progress bar.
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").addHandler(self._handler)

    def autograde(self, student: str, force: bool, executor: Executor) -> str:
        """Do all that `nbgrader autograde ASSIGNMENT --student STUDENT` does, and say what went wrong.

        Raises GradingStoppedError where no submission at all can be graded or recorded.
        """
        reason = invalid_id_reason(student)
        if reason is not None:
            return reason
        config = Config(self._config)
        log = _StudentLog(student, self._handler)
        coursedir = CourseDirectory(config=config, log=log)
        coursedir.root = str(self._root)
        coursedir.assignment_id = self._assignment
        coursedir.student_id = student
        converter = JudgedAutograde(coursedir=coursedir, config=config, log=log)
        converter.force, converter.only = force, student
        converter.executor = executor
        try:
            converter.start()
        except NbGraderException:
            return log.last_words or FAILED
        return ""

    def log_warning(self, sentence: str) -> None:
        """Write into the log what is true for the whole class."""
        _StudentLog(self._assignment, self._handler).warning("%s", sentence)

    def close(self) -> None:
        logging.getLogger("py.warnings").removeHandler(self._handler)
        logging.captureWarnings(False)
        self._handler.close()


class _StudentLog(logging.Logger):
    """nbgrader's words about one student: into the log with the name, the last error kept."""

    def __init__(self, student: str, handler: logging.Handler) -> None:
        super().__init__(plain_line(student), logging.INFO)
        self.addHandler(handler)
        keep_plain(self)
        self.last_words = ""

    def handle(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        # An error of nbgrader's comes as a traceback between sentences that say only that there was one.
        if record.levelno >= logging.ERROR and message.startswith(TRACEBACK):
            self.last_words = words_of_failure(message)
        super().handle(record)


@dataclass(frozen=True)
class GradedSubmission:
    """The result of one submission: its notebooks' records, or why there is no grade."""

    student: str
    notebooks: tuple[GradedNotebook, ...] = ()
    problem: str = ""

    @property
    def seconds(self) -> float:
        return sum(notebook.record.seconds or 0 for notebook in self.notebooks)

    @property
    def reason(self) -> str:
        """Why nothing of it could be run, if so."""
        return next((notebook.record.reason for notebook in self.notebooks if notebook.record.reason), "")

    @property
    def remark(self) -> str:
        """Return what was unusual about what was handed in, if anything."""
        return " ".join(
            dict.fromkeys(notebook.record.note for notebook in self.notebooks if notebook.record.note)
        )


class ClassRun:
    """One run over the submissions of a plan."""

    def __init__(
        self,
        plan: Plan,
        autograder: Autograder,
        workers: LocalWorkers | ClusterWorkers,
        check_solutions: Callable[[Executor], list[str]],
    ) -> None:
        self._plan, self._autograder, self.workers = plan, autograder, workers
        # They go to the workers first, and no student's result is recorded before they are back.
        self._check_solutions, self._solutions_are_checked = check_solutions, threading.Event()
        # The thread that holds it may use nbgrader: its folders, its gradebook, this process's environment.
        self._nbgrader_lock = threading.Lock()
        self._stopping = False
        self._over: SystemExit | None = None  # why no further submission can be graded
        self.in_progress: list[str] = []
        self.warnings: list[str] = []  # of the assignment itself, each once
        self.costs = Costs()  # of all notebooks that came back
        self.first_dispatch: float | None = None  # when the first notebook went to a worker

    def results(self) -> Iterator[GradedSubmission | None]:
        """Each submission as soon as it is done; None every now and then, to look at the clock.

        Raises CourseError where no submission at all can be graded or recorded.
        """
        waiting, running = list(self._plan.todo), dict[Future[GradedSubmission], str]()
        # nbgrader works in the course's folder.
        with chdir(self._plan.folders.root), ThreadPoolExecutor(MAX_SUBMISSIONS_AT_WORK + 1) as threads:
            try:
                solutions: Future[None] | None = None
                while waiting or running:
                    capacity = min(self.workers.capacity(), MAX_SUBMISSIONS_AT_WORK)
                    if capacity and solutions is None:  # a cluster may have no worker yet
                        solutions = threads.submit(self._grade_solutions)
                    while waiting and len(running) < capacity:
                        student = waiting.pop(0)
                        running[threads.submit(self._grade, student)] = student
                    self.in_progress = list(running.values())
                    done, _ = wait(running, POLL_SECONDS, FIRST_COMPLETED)
                    for future in done:
                        del running[future]
                        yield future.result()
                    if self._over is not None:
                        raise CourseError(str(self._over))
                    if not done:
                        yield None
            except BaseException:
                # nbgrader removes what it has begun of what is out at work.
                self._stopping = True
                self.workers.stop()
                raise

    def _grade(self, student: str) -> GradedSubmission:
        """In a thread of its own."""
        force = self._plan.todo[student] != "new"
        costs = Costs()
        with self._nbgrader_lock:
            if self._stopping:
                return GradedSubmission(student, problem="not begun")
            try:
                with costs.phase(NBGRADER):
                    problem = self._autograder.autograde(student, force, partial(self._dispatch, costs))
                costs.seconds.pop(WAIT, None)  # there is none where no notebook could be run
                self.costs.add(costs)
            except KeyboardInterrupt:
                return GradedSubmission(student, problem="stopped")
            except SystemExit as error:
                self._over = error
                return GradedSubmission(student, problem=str(error))
            except Exception as error:
                problem = _sentence(error)
        if problem:
            return GradedSubmission(student, problem=problem)
        try:
            return GradedSubmission(student, tuple(self._notebooks(student)))
        except (OSError, ValueError):
            return GradedSubmission(student, problem=NO_RECORD)

    def _grade_solutions(self) -> None:
        """In a thread of its own: have the assignment's own solutions graded, see `check_solution`."""
        try:
            with self._nbgrader_lock:
                self.warnings += self._check_solutions(self._run_elsewhere)
        except KeyboardInterrupt:
            pass  # the run is stopped
        except Exception as error:
            if isinstance(error, CourseError) and not isinstance(error, WorkerDiedError):
                self._over = GradingStoppedError(f"Nothing was graded. {error} {GRADES_ARE_KEPT}")
            else:
                what = f"The solution of {self._plan.assignment} could not be graded"
                self.warnings.append(f"{what}: {_sentence(error)}")
        finally:
            for warning in self.warnings:
                self._autograder.log_warning(warning)
            self._solutions_are_checked.set()

    def _dispatch(self, costs: Costs, job: GradingJob) -> GradingResult:
        """Hand a notebook over, and let others use nbgrader meanwhile."""
        with costs.phase(WAIT):
            result = self._run_elsewhere(job, self._solutions_are_checked)
        self.costs.add(result.costs)
        return result

    def _run_elsewhere(self, job: GradingJob, until: threading.Event | None = None) -> GradingResult:
        """Run a job without the lock, and wait for an event, which a job of the solution's brings about."""
        self.first_dispatch = self.first_dispatch or time.monotonic()
        self._nbgrader_lock.release()
        try:
            if self._stopping:
                raise KeyboardInterrupt
            result = self.workers.run(job)
            if until is not None:
                until.wait()
                if self._over is not None:
                    raise self._over
            return result
        except BaseException:
            if self._stopping:  # as nbgrader wants to be told
                raise KeyboardInterrupt from None
            raise
        finally:
            self._nbgrader_lock.acquire()
            # nbgrader sets it for as long as it runs a notebook; another submission's end has removed it.
            os.environ["NBGRADER_EXECUTION"] = "autograde"

    def _notebooks(self, student: str) -> Iterator[GradedNotebook]:
        folders, assignment = self._plan.folders, self._plan.assignment
        for name in folders.notebook_names(assignment):
            yield read_graded(folders.autograded(student, assignment) / name)


def _sentence(error: Exception) -> str:
    text = str(error) if isinstance(error, GradingFailedError) else f"{type(error).__name__}: {error}"
    return plain_line(text, LONGEST_SENTENCE)


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
    """Print the run's results by exercise, and which students need a look."""
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
    print_plain(console, _closing_sentence(plan, done, seconds))
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
                if not verdict.max_points:
                    continue  # a question that is worth nothing
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


def _closing_sentence(plan: Plan, done: Sequence[GradedSubmission], seconds: float) -> str:
    parts = [f"{plan.assignment}: {len(done)} graded in {seconds:.0f} s"]
    if done:
        parts[0] += f" ({median(graded.seconds for graded in done):.1f} s for the median notebook)"
    if plan.unchanged:
        parts.append(f"{plan.unchanged} unchanged since they were graded")
    return "; ".join(parts) + "."
