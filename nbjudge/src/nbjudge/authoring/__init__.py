"""Exercises, their cases and their mistakes; inputs to draw; limits and steps that are not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbjudge import lazily
from nbjudge.authoring.cases import Build, Case, Draw, build, case, in_any_order, made_by
from nbjudge.authoring.exercise import (
    SUMS_OF_PRODUCTS,
    DerivedArray,
    Exercise,
    FittedCase,
    Group,
    Mistake,
    Step,
    Tolerance,
    Variable,
    WrongStep,
    merge_watched_calls,
    with_steps,
)
from nbjudge.parsing import parsed, parsed_expression
from nbjudge.settings import Limits
from nbjudge.values.packing import MadeInKernel

if TYPE_CHECKING:
    from nbjudge.judge.array_messages import first_position, size_behind
    from nbjudge.judge.compare import same_value
    from nbjudge.judge.describe import told_apart

# Of the judge, which imports this package: for sentences of a course's own.
__getattr__, _ = lazily(
    __name__,
    {
        "nbjudge.judge.array_messages": "first_position size_behind",
        "nbjudge.judge.compare": "same_value",
        "nbjudge.judge.describe": "told_apart",
    },
)

__all__ = [
    "Build",
    "Case",
    "DerivedArray",
    "Draw",
    "Exercise",
    "FittedCase",
    "Group",
    "Limits",
    "MadeInKernel",
    "Mistake",
    "SUMS_OF_PRODUCTS",
    "Step",
    "Tolerance",
    "Variable",
    "WrongStep",
    "build",
    "case",
    "first_position",
    "in_any_order",
    "made_by",
    "merge_watched_calls",
    "parsed",
    "parsed_expression",
    "same_value",
    "size_behind",
    "told_apart",
    "with_steps",
]
