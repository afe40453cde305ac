"""`make demo`: an invented class hands in a lesson, and nbgrader grades it through Attention Lab."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from attention_lab.maintain.build import nbgrader_api
from attention_lab.maintain.demo.class_folder import fresh_course, invented_names, submit
from attention_lab.maintain.demo.hand_ins import Writer
from attention_lab.maintain.demo.material import material_of
from attention_lab.maintain.demo.outcome import Outcome, legend, outcome_of, print_closing, table_of
from nbjudge import (
    LOG_FILE,
    CourseError,
    GradedSubmission,
    Options,
    default_worker_count,
    grade_plan,
    make_plan,
    sandbox_refusal,
)
from nbjudge.course import Assignment, read_folders, read_notebook

SEED = 42  # the same class every time


def run_demo(lesson: Assignment, students: int, console: Console, sandbox: bool = True) -> None:
    """Make a course folder `demo/` beside the lesson's sources, let a class hand in, grade it, report.

    Raises `CourseError` when anything comes out other than the class deserves, and where there can
    be no sandbox although one was asked for.
    """
    reason = sandbox_refusal() if sandbox else None
    if reason is not None:
        raise CourseError(f"{reason} Or go on without it: attention-lab demo --no-sandbox.")
    with console.status(f"Inventing {students} students …"):
        lesson = fresh_course(lesson)
        hand_ins = Writer(material_of(lesson, read_notebook(lesson.release_path)), SEED).hand_ins(students)
        class_list = dict(zip(invented_names(students, SEED), hand_ins, strict=True))
        for student, hand_in in class_list.items():
            submit(lesson, student, hand_in)
    # After the first, for whom the reader waits, the slow ones: the others are graded meanwhile.
    first, *others = class_list
    order = [first, *sorted(others, key=lambda student: not class_list[student].slow)]
    outcomes: list[Outcome] = []
    exercises = {name: lesson.exercises[name] for name in hand_ins[0].expected}
    console.print(legend(lesson, exercises))

    def take(graded: GradedSubmission) -> None:
        outcome = outcome_of(lesson, class_list[graded.student], graded)
        console.print(table_of(exercises, [outcome], with_head=not outcomes))
        outcomes.append(outcome)

    started = time.monotonic()
    grade_class(lesson, order, console, take, sandbox)
    seconds = time.monotonic() - started
    unwritten = write_feedback(lesson, order, console)
    outcomes = [outcome.with_problem(unwritten.get(outcome.student)) for outcome in outcomes]
    print_closing(console, lesson, outcomes, seconds, default_worker_count(students))

    expected = sum(len(outcome.hand_in.expected) for outcome in outcomes)
    right = sum(outcome.as_expected for outcome in outcomes)
    unusable = sum(bool(outcome.problems) for outcome in outcomes)
    if right < expected or unusable:
        raise CourseError(f"Only {right} of {expected} verdicts are as expected: see the lines in red.")
    console.print(Text(f"✓ {right} of {expected} verdicts are as expected.", style="bold green"))


def grade_class(
    lesson: Assignment,
    students: Sequence[str],
    console: Console,
    take: Callable[[GradedSubmission], None],
    sandbox: bool = True,
) -> None:
    """Grade the students in this order, with a progress bar; `take` gets each who is done."""
    plan = make_plan(read_folders(lesson.course.root), lesson.folder)
    in_order = replace(plan, todo={student: plan.todo[student] for student in students})
    grade_plan(in_order, Options(sandbox=sandbox), console, take)


def write_feedback(lesson: Assignment, students: Sequence[str], console: Console) -> dict[str, str]:
    """`nbgrader generate_feedback` for each student; returns what went wrong, by student."""
    root = lesson.course.root
    api = nbgrader_api(lesson.course)
    columns = (TextColumn("Writing feedback"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    problems = {}
    with (
        Progress(*columns, console=console, transient=True) as progress,
        open(root / LOG_FILE, "a", encoding="utf-8") as log,
    ):
        logging.getLogger("traitlets").propagate = False
        for student in progress.track(students):
            result = api.generate_feedback(lesson.folder, student)
            error = str(result.get("error", "")).strip()
            print(f"---- feedback for {student}", result.get("log", ""), error, sep="\n", file=log)
            if not result["success"]:
                problems[student] = (error.splitlines() or ["nbgrader failed"])[-1]
    return problems
