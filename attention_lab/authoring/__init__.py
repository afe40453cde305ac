"""What this course's checks are written with: the grader's own words, and those of attention."""

from attention_lab.authoring.draw import Draw, LayerDraw, SmallDraw, SmallLayerDraw
from attention_lab.authoring.exercise import Exercise, add_mistakes
from attention_lab.authoring.obfuscation import Obfuscation
from attention_lab.authoring.steps import (
    AUTOMATIC_DIFFERENTIATION,
    BUILDING_LAYERS,
    FUSED_ATTENTION,
    RMS_NORM,
    SOFTMAX,
)
from attention_lab.authoring.vocabulary import (
    FLOATS,
    LARGEST_SCORE,
    attention,
    defaults,
    for_large_scores,
    hidden_above,
)
from nbjudge.authoring import (
    SUMS_OF_PRODUCTS,
    Case,
    Limits,
    MadeInKernel,
    Tolerance,
    case,
    in_any_order,
    made_by,
)
from nbjudge.torch import build

__all__ = [
    "FLOATS",
    "LARGEST_SCORE",
    "add_mistakes",
    "attention",
    "defaults",
    "for_large_scores",
    "hidden_above",
    "AUTOMATIC_DIFFERENTIATION",
    "BUILDING_LAYERS",
    "FUSED_ATTENTION",
    "RMS_NORM",
    "SOFTMAX",
    "SUMS_OF_PRODUCTS",
    "Case",
    "Obfuscation",
    "Draw",
    "Exercise",
    "LayerDraw",
    "SmallDraw",
    "SmallLayerDraw",
    "Limits",
    "MadeInKernel",
    "Tolerance",
    "case",
    "build",
    "in_any_order",
    "made_by",
]
