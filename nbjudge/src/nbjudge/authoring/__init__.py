"""Exercises, their cases and their mistakes; inputs to draw; limits and steps that are not allowed."""

from nbjudge.authoring.cases import Build, Case, build, case
from nbjudge.authoring.draw import Draw, in_any_order
from nbjudge.authoring.exercise import Exercise
from nbjudge.authoring.kernel_code import made_by
from nbjudge.authoring.steps import Step
from nbjudge.authoring.tolerance import SUMS_OF_PRODUCTS, Tolerance
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
    "case",
    "build",
    "in_any_order",
    "made_by",
]
