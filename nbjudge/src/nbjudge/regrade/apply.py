"""Decisions put into a graded notebook, each time one is graded."""

from __future__ import annotations

from nbformat import NotebookNode

from nbjudge.cell_metadata import checked_exercise
from nbjudge.course.course import Lesson
from nbjudge.judge.verdict import Regrade
from nbjudge.record.graded_cell import read_verdict, write_regrade
from nbjudge.regrade.decisions import read_decisions
from nbjudge.regrade.same_answer import answers_of


def apply_regrades(notebook: NotebookNode, lesson: Lesson) -> dict[str, float]:
    """Give what was decided to the answers that it was decided for; their points by exercise.

    Raises CourseError where the lesson's decisions cannot be read.
    """
    decisions = {
        (each.exercise, each.answer): each for each in read_decisions(lesson.course.folders, lesson.folder)
    }
    if not decisions:
        return {}
    given = {}
    answers = answers_of(notebook.cells)
    for cell in notebook.cells:
        exercise = checked_exercise(cell)
        decision = decisions.get((exercise or "", answers.get(exercise or "", "")))
        verdict = read_verdict(cell)
        if decision is not None and verdict is not None:
            points = min(decision.points, verdict.max_points)  # the exercise may be worth less by now
            regraded = write_regrade(cell, Regrade(points, decision.reason, decision.day))
            given[regraded.exercise] = regraded.points
    return given
