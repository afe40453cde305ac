"""Late penalties follow the dates in the gradebook: no notebook has to be run again for them."""

from __future__ import annotations

from typing import Any

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

from nbjudge.course.configuration import has_late_penalties


def update_penalties(config: Config, coursedir: Any, log: Any) -> list[str]:
    """Have nbgrader's plugin decide again on the submissions that are late, or were.

    Returns the students whose penalty has changed, because a due date or an extension was moved.
    """
    if not has_late_penalties(config):
        return []
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        before = _penalties(gradebook, coursedir.assignment_id)
    decide = AssignLatePenalties(config=config, log=log)
    for student, notebook in before:
        names = {
            "student": student,
            "assignment": coursedir.assignment_id,
            "notebook": notebook,
            "db_url": coursedir.db_url,
        }
        decide.preprocess(nbformat.v4.new_notebook(), ResourcesDict(nbgrader=names))
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        after = _penalties(gradebook, coursedir.assignment_id)
    return sorted({student for (student, _), penalty in before.items() ^ after.items() if penalty})


def _penalties(gradebook: Gradebook, assignment: str) -> dict[tuple[str, str], float]:
    """By student and notebook, of the submissions that are late or have a penalty."""
    return {
        (submission.student.id, notebook.name): notebook.late_submission_penalty or 0
        for submission in gradebook.assignment_submissions(assignment)
        for notebook in submission.notebooks
        if submission.total_seconds_late > 0 or notebook.late_submission_penalty
    }
