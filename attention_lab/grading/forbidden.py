"""Ready-made steps that an exercise asks students to write themselves.

What counts is what ran when the exercise was called (see `recording.Recording`), not how it was
spelt: every alias, method, module and relative of a step ends in one of these operators.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Step:
    """A step as the message calls it, and the patterns of the names that give it away."""

    called: str
    patterns: tuple[str, ...]


_FUSED_ATTENTION = (
    "aten._scaled_dot_product*",
    "aten._native_multi_head_attention*",
    "aten._transform_bias_rescale_qkv*",
    "aten._fused_sdp_choice*",
    "aten._flash_attention*",
    "aten._efficient_attention*",
    "aten._safe_softmax*",  # only torch's own fused attention runs this one
    "C scaled_dot_product_attention",
    "C _scaled_dot_product_attention*",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.modules.activation.MultiheadAttention.*",
    "torch.nn.modules.transformer.*",
    "torch.nn.attention.flex_attention.*",
)

STEPS = {
    "softmax": Step(
        "a ready-made softmax",
        (
            "aten._softmax.*",
            "aten._log_softmax.*",
            "aten._sparse_softmax*",
            "aten._sparse_log_softmax*",
            "aten._masked_softmax*",
            "aten.softmax*",
            "aten.log_softmax*",
            "aten.special_softmax*",
            "aten.special_log_softmax*",
            "aten.logsumexp*",
            "aten.logcumsumexp*",
            "aten._logcumsumexp*",
            # In a thread of its own only the call is seen, not the operator.
            "C softmax",
            "C log_softmax",
            "C logsumexp",
            "scipy.special._logsumexp.*",
            *_FUSED_ATTENTION,
        ),
    ),
    "fused_attention": Step("torch's ready-made attention", _FUSED_ATTENTION),
    "building_layers": Step("a layer's own constructor", ("torch.nn.modules.*.__init__",)),
    "automatic_differentiation": Step(
        "automatic differentiation",
        (
            "C run_backward",
            "C _enter_dual_level",
            "C _make_dual",
            "C _grad_increment_nesting",
            "C _jvp_increment_nesting",
            "torch.autograd.functional.*",
            "torch._functorch.eager_transforms.*",
        ),
    ),
}


def forbidden_step(not_allowed: Collection[str], ran: Collection[str]) -> tuple[Step, str] | None:
    """The first step that ran although it is not allowed, with the name that gave it away."""
    for family in not_allowed:
        for pattern in STEPS[family].patterns:
            for name in sorted(ran):
                if fnmatchcase(name, pattern):
                    return STEPS[family], name.removeprefix("C ")
    return None
