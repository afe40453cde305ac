"""Grading the invented class as any class is graded, and writing its feedback pages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from attention_lab.maintain.build import nbgrader_api
from nbjudge.batch.changed_submissions import make_plan
from nbjudge.batch.coordinator import GradedSubmission
from nbjudge.batch.grade_command import LOG_FILE, Options, grade_plan
from nbjudge.course.course import Assignment
from nbjudge.course.folders import read_folders


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
