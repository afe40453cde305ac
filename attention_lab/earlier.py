"""Questions of earlier lessons, with which a lesson begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention_lab.start.practice.earlier import EarlierQuestions


def earlier_questions(lesson: int) -> EarlierQuestions:
    """Show three questions of lessons before this one, those that the learner has most likely forgotten."""
    # The sandbox imports this module, and does not have `start`.
    from attention_lab.start.practice.earlier import EarlierQuestions

    return EarlierQuestions(lesson)
