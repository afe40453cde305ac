"""Decisions put into a graded notebook, each time one is graded."""

from __future__ import annotations

from collections.abc import Mapping

from nbformat import NotebookNode

from nbjudge.cell_metadata import checked_exercise, record_answer
from nbjudge.course.course import Assignment
from nbjudge.judge.verdict import Regrade
from nbjudge.record.graded_cell import read_verdict, write_regrade
from nbjudge.regrade.decisions import decision_for, read_decisions
from nbjudge.regrade.same_answer import answers_of


def apply_regrades(
    notebook: NotebookNode, assignment: Assignment, student: str, files: Mapping[str, bytes]
) -> dict[str, float]:
    """Record which answers are the same, and give what was decided to those that it was decided for.

    Parameters
    ----------
    notebook
        The graded notebook; it is changed.
    assignment
        The assignment that it belongs to.
    student
        Whose it is.
    files
        The student's own files that were beside it, by path.

    Returns
    -------
    dict
        The points by exercise, of the exercises that a decision changed.

    Raises
    ------
    CourseError
        If the assignment's decisions cannot be read.
    """
    decisions = read_decisions(assignment.course.folders, assignment.folder)
    answers = answers_of(notebook.cells, files)
    given = {}
    for cell in notebook.cells:
        exercise, verdict = checked_exercise(cell), read_verdict(cell)
        if exercise is None or verdict is None:
            continue
        record_answer(cell, answers[exercise])
        decision = decision_for(decisions, answers[exercise], student, verdict)
        if decision is not None:
            points = min(decision.points, verdict.max_points)  # the exercise may be worth less by now
            regraded = write_regrade(cell, Regrade(points, decision.reason, decision.day))
            given[regraded.exercise] = regraded.points
    return given
