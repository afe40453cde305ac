"""Exercises, their cases and their mistakes; inputs to draw; limits and steps that are not allowed."""

from nbjudge.authoring.disguise import Disguise
from nbjudge.authoring.draw import Draw, in_any_order
from nbjudge.authoring.exercise import SUMS_OF_PRODUCTS, Build, Case, Exercise, Made, Tolerance, ask, build
from nbjudge.authoring.kernel_code import made_by
from nbjudge.authoring.limits import Limits
from nbjudge.authoring.steps import Step

__all__ = [
    "SUMS_OF_PRODUCTS",
    "Build",
    "Case",
    "Disguise",
    "Draw",
    "Exercise",
    "Limits",
    "Made",
    "Step",
    "Tolerance",
    "ask",
    "build",
    "in_any_order",
    "made_by",
]
