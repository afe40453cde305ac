"""The steps that students of this course write themselves, by the names that torch runs them under.

Only what everything else comes down to is named: torch's operators, forward and backward, by patterns, and
functions that are written in Python.
"""

from nbjudge.torch import Step

FUSED_ATTENTION = Step(
    "torch's ready-made attention",
    functions={
        "torch.nn.modules.transformer": (
            "Transformer.forward",
            "TransformerEncoderLayer.forward",
            "TransformerDecoderLayer.forward",
        ),
        "torch.nn.modules.activation": ("MultiheadAttention.__init__", "MultiheadAttention.forward"),
        "torch.nn.functional": ("multi_head_attention_forward",),
        "torch.nn.attention.flex_attention": ("flex_attention",),
    },
    # Only torch's own fused attention runs `_safe_softmax`.
    operators=("*attention*", "*_sdp_*", "*_safe_softmax*", "*transformer_encoder_layer*", "*bias_rescale*"),
    written_as={
        "torch.*MultiheadAttention.*": "nn.MultiheadAttention",
        "aten::_native_multi_head_attention*": "nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward": "F.multi_head_attention_forward",
        "torch.nn.modules.transformer.TransformerDecoder*": "nn.TransformerDecoderLayer",
        "torch.nn.modules.transformer.TransformerEncoder*": "nn.TransformerEncoderLayer",
        "torch.nn.modules.transformer.*": "nn.Transformer",
        "aten::_transform*": "nn.TransformerEncoderLayer",
        "aten::*_backward*": "the backward pass of F.scaled_dot_product_attention",
        "aten::*": "F.scaled_dot_product_attention",
        "torch.*flex_attention": "flex_attention",
    },
)
SOFTMAX = Step(
    "a ready-made softmax",
    functions={
        "scipy.special._logsumexp": ("logsumexp", "_logsumexp", "softmax", "log_softmax"),
        "sklearn.utils.extmath": ("softmax",),
        "torch.distributions.transforms": ("SoftmaxTransform._call",),
    },
    operators=("*softmax*", "*softmin*", "*log*sumexp*", "*logaddexp*"),
    also=(FUSED_ATTENTION,),
    written_as={
        "aten::_safe_softmax*": "F.scaled_dot_product_attention",
        "aten::*softmax*_backward*": "the backward pass of torch.softmax",
        "aten::*log_softmax*": "torch.log_softmax",
        "aten::*softmax*": "torch.softmax",
        "aten::logsumexp*": "torch.logsumexp",
        "aten::*logcumsumexp*": "torch.logcumsumexp",
        "aten::logaddexp*": "torch.logaddexp",
        "torch.distributions.transforms.SoftmaxTransform.*": "torch.distributions.SoftmaxTransform",
    },
)
RMS_NORM = Step(
    "torch's ready-made RMSNorm",
    functions={
        "torch.nn.modules.normalization": ("RMSNorm.__init__", "RMSNorm.forward"),
        "torch.nn.functional": ("rms_norm",),
    },
    # The first is composed of others: its whole name has to be given.
    operators=("aten::rms_norm*", "aten::_fused_rms_norm*"),
    written_as={
        "torch.nn.modules.normalization.*": "nn.RMSNorm",
        "torch.nn.functional.rms_norm": "F.rms_norm",
        "aten::*": "torch.rms_norm",
    },
)
BUILDING_LAYERS = Step(
    "a layer's own constructor",
    functions={"torch.nn.modules.module": ("Module.__init__",)},
)
AUTOMATIC_DIFFERENTIATION = Step(
    "automatic differentiation",
    # All backward passes that Python starts, the judge's own left out, and the forward mode.
    functions={
        "torch.autograd.graph": ("_engine_run_backward",),
        "torch.autograd.forward_ad": ("make_dual",),
    },
    # A derivative that is ready-made. In a backward pass it is autograd's, who may be asked by the judge.
    operators=("*softmax*_backward* (called)",),
    written_as={
        "torch.autograd.graph.*": "a backward pass",
        "aten::*": "the backward pass of torch.softmax",
    },
)
