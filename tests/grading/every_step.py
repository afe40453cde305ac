"""The course's steps by a word each, and a watch for all of them."""

from attention_lab.authoring import AUTOMATIC_DIFFERENTIATION, BUILDING_LAYERS, FUSED_ATTENTION, SOFTMAX
from nbjudge.authoring.exercise import merge_watches

STEPS = {
    "softmax": SOFTMAX,
    "fused_attention": FUSED_ATTENTION,
    "automatic_differentiation": AUTOMATIC_DIFFERENTIATION,
    "building_layers": BUILDING_LAYERS,
}
WATCH = merge_watches(step.watch() for step in STEPS.values())
OPERATORS, FUNCTIONS = WATCH["operators"], WATCH["functions"]
