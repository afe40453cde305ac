"""What a gradebook holds of a class, whichever database it is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from tiny_course import FOLDER


def in_gradebook(root: Path, url: str | None = None) -> dict[str, dict[str, Any]]:
    """By student: the late penalty, and of each cell the scores, whether a person is needed, the comment."""
    found = {}
    with Gradebook(url or f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for submission in gradebook.assignment_submissions(FOLDER):
            (notebook,) = submission.notebooks
            about: dict[str, Any] = {
                grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade, grade.max_score)
                for grade in notebook.grades
            }
            comments = {comment.name: comment.auto_comment for comment in notebook.comments}
            penalty = notebook.late_submission_penalty
            found[submission.student.id] = about | {
                "comments": comments,
                "late penalty": penalty,
                "needs a person": notebook.needs_manual_grade,
                "late by": submission.total_seconds_late,
                "score": notebook.score,
            }
    return found
