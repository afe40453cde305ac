"""An exercise of this course: its inputs are tensors."""

from __future__ import annotations

from dataclasses import dataclass

from attention_lab.authoring.draw import Draw
from attention_lab.authoring.wrong_weights import AttentionExercise


@dataclass(eq=False)
class Exercise(AttentionExercise):
    """One graded answer whose inputs come from this course's `Draw`."""

    draw: type[Draw] = Draw
    # The contract says that no argument is changed. It is said here, and not in nbgrader_config.py, because a
    # learner's tutor has the checks and no configuration.
    changed_arguments: str | None = "one group"
