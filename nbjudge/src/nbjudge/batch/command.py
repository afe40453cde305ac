"""`nbjudge grade`: what is new or changed of one lesson's submissions, all at once."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from nbjudge.batch.lock import exclusive_run
from nbjudge.batch.plan import Plan, make_plan
from nbjudge.batch.workers import LocalWorkers, Workers, default_worker_count, preload_workers
from nbjudge.course.configuration import read_config
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.plain_text import LONGEST_SENTENCE, plain_line

if TYPE_CHECKING:
    from nbjudge.batch.coordinator import GradedSubmission

LOG_FILE = "nbgrader.log"


@dataclass(frozen=True)
class Options:
    """What the command line says besides the lesson."""

    students: str | Collection[str] = "*"  # a pattern, or names
    workers: int | None = None
    scheduler: str | None = None
    force: bool = False
    sandbox: bool | None = None  # as `nbgrader_config.py` says


def grade_class(folders: CourseFolders, lesson: str, options: Options, console: Console) -> int:
    """Grade a class with a progress bar and a closing table.

    Returns the exit status: 0 when every submission has its grade, 1 when one has none, 130 after
    Ctrl-C. Raises CourseError where nothing can be graded, or nothing more.
    """
    plan = make_plan(folders, lesson, options.students, options.force)
    if not plan.todo:
        console.print(Text(f"{plan.assignment}: all {plan.unchanged} are graded, and unchanged since."))
        return 0
    from nbjudge.course.generated import not_generated_reason  # it imports nbgrader

    reason = not_generated_reason(plan.folders, plan.assignment)
    if reason is not None:
        raise CourseError(reason)
    results: list[GradedSubmission] = []
    started, stopped = time.monotonic(), False
    try:
        grade_plan(plan, options, console, results)
    except KeyboardInterrupt:
        stopped = True
    from nbjudge.batch.display import print_closing_table

    print_closing_table(console, plan, results, time.monotonic() - started, stopped)
    if stopped:
        return 130
    return 1 if any(graded.problem for graded in results) else 0


def grade_plan(plan: Plan, options: Options, console: Console, results: list[GradedSubmission]) -> None:
    """Grade what is planned, with a progress bar; `results` grows by each submission that is done."""
    root = plan.folders.root
    with exclusive_run(root):
        with console.status("Warming up …"):
            if options.scheduler is None:
                preload_workers(plan.folders.checks)
            # nbgrader and torch: seconds that nobody waits for who has nothing to grade.
            from nbjudge.batch.autograde import Autograder
            from nbjudge.batch.coordinator import ClassRun
            from nbjudge.batch.display import progress_bar

            config = read_config(root)
            if options.sandbox is not None:
                config.RunAndJudge.sandbox = options.sandbox
            config.CourseDirectory.root = str(root)
            autograder = Autograder(config, root, plan.assignment, root / LOG_FILE)
            run = ClassRun(plan, autograder, _workers(plan, options, config, console))
        try:
            with progress_bar(console, len(plan.todo)) as bar:
                for graded in run.results():
                    if graded is not None:
                        results.append(graded)
                    bar.show(run, graded)
            run.workers.close()
        finally:
            for warning in run.warnings:
                console.print(Text(plain_line(warning, LONGEST_SENTENCE), style="yellow"), soft_wrap=True)
            autograder.close()


def _workers(plan: Plan, options: Options, config: Any, console: Console) -> Workers:
    from nbgrader.coursedir import CourseDirectory

    from nbjudge.batch.lesson_archive import pack_lesson
    from nbjudge.course.course import open_course
    from nbjudge.nbgrader_hooks import RunAndJudge

    root = plan.folders.root
    course = open_course(root, plan.folders)
    archive = pack_lesson(course, plan.assignment)
    judging = RunAndJudge(config=config)
    if options.scheduler is not None:
        try:
            from nbjudge.batch.cluster import ClusterWorkers
        except ImportError as error:
            raise CourseError(f"--scheduler needs Dask ({error}): pip install 'nbjudge[cluster]'.") from error

        def tell(said: str) -> None:
            console.print(Text(plain_line(said, LONGEST_SENTENCE), style="yellow"), soft_wrap=True)

        return ClusterWorkers(archive, options.scheduler, judging.sandbox, tell)
    judging.refuse_without_sandbox()
    judging.refuse_readable_paths(CourseDirectory(config=config))
    warm = judging.modules_of(course.lessons_in(plan.assignment)[0]), tuple(judging.helpers)
    count = options.workers or default_worker_count(len(plan.todo))
    return LocalWorkers(archive, count, root / LOG_FILE, warm if judging.sandbox else None)
