"""An exercise of this course: its inputs are tensors."""

from __future__ import annotations

from dataclasses import dataclass

from attention_lab.authoring.draw import Draw
from attention_lab.measurements import AttentionExercise


@dataclass(eq=False)
class Exercise(AttentionExercise):
    """One graded answer whose inputs come from this course's `Draw`."""

    draw: type[Draw] = Draw
