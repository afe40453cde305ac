"""Exercises, their cases and their mistakes; inputs to draw; limits and steps that are not allowed."""

from nbjudge.authoring.cases import Build, Case, Draw, build, case, in_any_order, made_by
from nbjudge.authoring.exercise import SUMS_OF_PRODUCTS, Exercise, Step, Tolerance, Variable
from nbjudge.settings import Limits
from nbjudge.values.packing import MadeInKernel

__all__ = [
    "SUMS_OF_PRODUCTS",
    "Build",
    "Case",
    "Draw",
    "Exercise",
    "Limits",
    "MadeInKernel",
    "Step",
    "Tolerance",
    "Variable",
    "case",
    "build",
    "in_any_order",
    "made_by",
]
