"""`nbjudge grade`: what is new or changed of one assignment's submissions, all at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from nbjudge.batch.changed_submissions import Plan, make_plan
from nbjudge.batch.workers import LocalWorkers, default_worker_count, preload_workers, start_fork_server
from nbjudge.course.configuration import has_late_penalties, read_config, require_own_step
from nbjudge.course.course import open_course, without_changes
from nbjudge.course.folders import CourseFolders
from nbjudge.course.student_change import exclusive_run
from nbjudge.errors import CourseError, ExitStatus, stop_on_course_error
from nbjudge.fast_start import no_collection
from nbjudge.settings import GradingSettings

if TYPE_CHECKING:
    from traitlets.config import Config

    from nbjudge.batch.cluster import ClusterWorkers
    from nbjudge.batch.coordinator import GradedSubmission
    from nbjudge.course.course import Course
    from nbjudge.grading.job import Executor
    from nbjudge.sandbox.fork_server_client import ForkServer

LOG_FILE = "nbgrader.log"


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    students: str | Collection[str] = "*"  # a pattern, or names
    workers: int | None = None
    scheduler: str | None = None
    force: bool = False
    sandbox: bool | None = None  # as `nbgrader_config.py` says
    timings: bool = False  # print where the time went


def grade_class(folders: CourseFolders, assignment: str, options: Options, console: Console) -> ExitStatus:
    """Grade a class with a progress bar and a closing table, and return the exit status.

    Raises CourseError where nothing can be graded, or nothing more.
    """
    plan = make_plan(folders, assignment, options.students, options.force)
    if not plan.todo:
        unchanged = f"{plan.assignment}: all {plan.unchanged} are graded, and unchanged since."
        console.print(Text(plan.warning or unchanged), soft_wrap=True)
        _follow_dates(plan, console)
        students = plan.folders.students(plan.assignment)
        if any(plan.folders.feedback(student, plan.assignment).exists() for student in students):
            _print_open_tasks(plan, console)  # which imports nbgrader
        return ExitStatus.SUCCESS
    results: list[GradedSubmission] = []
    started, stopped = time.monotonic(), False
    try:
        grade_plan(plan, options, console, results.append)
    except KeyboardInterrupt:
        stopped = True
    from nbjudge.batch.coordinator import print_closing_table

    print_closing_table(console, plan, results, time.monotonic() - started, stopped)
    if plan.warning:
        console.print(Text(plan.warning, style="yellow"), soft_wrap=True)
    if not stopped:
        _follow_dates(plan, console)
    _print_open_tasks(plan, console)
    if stopped:
        return ExitStatus.INTERRUPTED
    return ExitStatus.PROBLEM if any(graded.problem for graded in results) else ExitStatus.SUCCESS


def _follow_dates(plan: Plan, console: Console) -> None:
    """Bring late penalties up to date, where the course takes any off, and say whose have changed."""
    config = read_config(plan.folders.root)
    if not has_late_penalties(config):
        return
    from nbjudge.batch.coordinator import print_plain
    from nbjudge.course.gradebook import course_directory, not_generated_reason
    from nbjudge.nbgrader_hooks.late_policy import follow_dates

    coursedir = course_directory(plan.folders.root, config)
    coursedir.assignment_id = plan.assignment
    if not_generated_reason(plan.folders, plan.assignment, config) is not None:
        return
    with exclusive_run(plan.folders.root), chdir(plan.folders.root):
        works = follow_dates(config, coursedir)
    changed = [work.student for work in works if work.before != work.after]
    if changed:
        print_plain(console, f"Late penalties follow the dates as they are now, for: {', '.join(changed)}.")


def _print_open_tasks(plan: Plan, console: Console) -> None:
    """Say which marks are offered again, and how many feedback pages are older than their grades."""
    from nbjudge.batch.coordinator import print_plain
    from nbjudge.course.gradebook import gradebook_url, not_generated_reason
    from nbjudge.record.grades import open_tasks

    if not_generated_reason(plan.folders, plan.assignment) is None:
        for sentence in open_tasks(gradebook_url(plan.folders.root), plan.folders, plan.assignment):
            print_plain(console, sentence, "yellow")


def grade_plan(
    plan: Plan, options: Options, console: Console, take: Callable[[GradedSubmission], None]
) -> None:
    """Grade what is planned, with a progress bar; `take` gets each submission as soon as it is done.

    Raises CourseError where nothing can be graded, or nothing more.
    """
    from nbjudge.kernel.timing import Costs

    root, started, start = plan.folders.root, time.monotonic(), Costs()
    with exclusive_run(root), ExitStack() as on_end:
        with console.status("Starting …"), no_collection():
            with start.phase("read the course"):
                config = read_config(root)
                require_own_step(config, root)
                if options.sandbox is not None:
                    config.RunAndJudge.sandbox = options.sandbox
                config.CourseDirectory.root = str(root)
                course = open_course(root, plan.folders)
                on_end.enter_context(without_changes(course))  # workers have its files as they are now
                fork_server = None
                if options.scheduler is None:
                    # Both import for seconds, so they start first; this process imports nbgrader meanwhile.
                    fork_server = start_fork_server(course, plan.assignment, config)
                    if fork_server is not None:
                        on_end.callback(fork_server.close)
                    assignments = course.assignments_in(plan.assignment)
                    lenders = [lender for assignment in assignments for lender in assignment.lenders]
                    preload_workers([file for each in (*assignments, *lenders) for file in each.checks_files])
            with start.phase("import nbgrader"):
                from nbjudge.batch.coordinator import Autograder, Bar, ClassRun, print_plain, print_timings
                from nbjudge.course.gradebook import not_generated_reason
                from nbjudge.grading.prepare import refuse_other_cells, refuse_problems

                reason = not_generated_reason(plan.folders, plan.assignment)
                if reason is not None:
                    raise CourseError(reason)
                autograder = Autograder(config, root, plan.assignment, root / LOG_FILE)
            with start.phase("wait until a worker has imported packages and loaded the checks"):
                workers = _workers(plan, course, options, config, console, fork_server)
            try:  # before nbgrader removes an earlier result, to grade again
                with chdir(root):  # from where a course names its header
                    refuse_problems(course.assignments_in(plan.assignment))
                    refuse_other_cells(course.assignments_in(plan.assignment), config)
            except CourseError as error:
                workers.stop()
                raise CourseError(f"Nothing was graded. {error}") from error
            run = ClassRun(plan, autograder, workers, partial(_check_solutions, course, plan, config))
        try:
            with Bar(console, len(plan.todo)) as bar:
                for graded in run.results():
                    if graded is not None:
                        take(graded)
                    bar.show(run, graded)
            run.workers.close()
            if options.timings and run.first_dispatch is not None:
                print_timings(console, run.costs, run.first_dispatch - started, start)
        finally:
            for warning in run.warnings:
                print_plain(console, warning, "yellow")
            autograder.close()


def _check_solutions(course: Course, plan: Plan, config: Config, execute: Executor) -> list[str]:
    from nbjudge.grading.prepare import check_solution

    settings = GradingSettings(config=config)
    assignments = course.assignments_in(plan.assignment)
    return [
        warning for assignment in assignments for warning in check_solution(assignment, settings, execute)
    ]


def _workers(
    plan: Plan, course: Course, options: Options, config: Config, console: Console, early: ForkServer | None
) -> LocalWorkers | ClusterWorkers:
    """Start workers, processes on this machine, with `early` as their fork server if fit, or a cluster."""
    from nbjudge.batch.coordinator import print_plain
    from nbjudge.batch.worker_process import pack_assignment
    from nbjudge.grading.prepare import prepare

    archive = pack_assignment(course, plan.assignment)
    settings = GradingSettings(config=config)
    if options.scheduler is not None:
        try:
            from nbjudge.batch.cluster import ClusterWorkers
        except ImportError as error:
            raise CourseError(f"--scheduler needs Dask ({error}): pip install 'nbjudge[cluster]'.") from error
        tell = partial(print_plain, console, style="yellow")
        return ClusterWorkers(archive, options.scheduler, settings.sandbox, tell)
    with stop_on_course_error("Nothing was graded."):
        for remark in prepare(course, settings):
            print_plain(console, remark, "bold yellow")
    count = options.workers or default_worker_count(len(plan.todo) + 1)  # and the solution
    workers = LocalWorkers(archive, count, plan.folders.root / LOG_FILE, early if settings.sandbox else None)
    for assignment in course.assignments_in(plan.assignment):
        summary = workers.summarize(assignment.name)
        if summary is not None:  # otherwise this process looks for the reason
            assignment.use_summary(summary)
    return workers
