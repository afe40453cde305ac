"""The course's steps by a word each, and the watched calls of all of them."""

from attention_lab.authoring import AUTOMATIC_DIFFERENTIATION, BUILDING_LAYERS, FUSED_ATTENTION, SOFTMAX
from nbjudge.authoring.exercise import merge_watched_calls

STEPS = {
    "softmax": SOFTMAX,
    "fused_attention": FUSED_ATTENTION,
    "automatic_differentiation": AUTOMATIC_DIFFERENTIATION,
    "building_layers": BUILDING_LAYERS,
}
WATCH = merge_watched_calls(step.watched_calls() for step in STEPS.values())
OPERATORS, FUNCTIONS = WATCH["operators"], WATCH["functions"]
