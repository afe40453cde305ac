"""The steps that students of this course write themselves, by the names that torch runs them under.

Only what everything else comes down to is named; torch's operators, forward and backward, are taken from
the list of the torch that is installed. `tests/grading/test_ready_made.py` holds the list to the
torch that is installed.
"""

from nbjudge.probe.recording import COMPILED
from nbjudge.torch import Step, operators_named
from nbjudge.torch.watching import BACKWARD_PASS

FUSED_ATTENTION = Step(
    "torch's ready-made attention",
    functions={
        "torch.nn.modules.activation": ("MultiheadAttention.__init__", "MultiheadAttention.forward"),
        "torch.nn.functional": ("multi_head_attention_forward",),
        "torch.nn.modules.transformer": (
            "Transformer.__init__",
            "Transformer.forward",
            "TransformerEncoder.forward",
            "TransformerDecoder.forward",
            "TransformerEncoderLayer.__init__",
            "TransformerEncoderLayer.forward",
            "TransformerDecoderLayer.__init__",
            "TransformerDecoderLayer.forward",
        ),
        "torch.ao.nn.quantizable.modules.activation": ("MultiheadAttention.forward",),
        "torch.nn.attention.flex_attention": ("flex_attention",),
        "torch._higher_order_ops.flex_attention": (
            "math_attention",
            "_math_attention_inner",
            "sdpa_dense_backward",
        ),
        # What torch.compile looks for, to put its fused attention there.
        "torch._inductor.fx_passes.fuse_attention": tuple(f"_sfdp_pattern_{n}" for n in range(1, 31)),
        "torch.onnx.ops._impl": ("attention_23",),
    },
    # Only torch's own fused attention runs `_safe_softmax`.
    operators=operators_named(r"attention|_sdp_|_safe_softmax$|transformer_encoder_layer|bias_rescale"),
    noted_as=(f"{COMPILED}*attention*",),
    written_as={
        "torch.*MultiheadAttention.*": "nn.MultiheadAttention",
        "aten::_native_multi_head_attention": "nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward": "F.multi_head_attention_forward",
        "torch.nn.modules.transformer.TransformerDecoder*": "nn.TransformerDecoderLayer",
        "torch.nn.modules.transformer.TransformerEncoder*": "nn.TransformerEncoderLayer",
        "torch.nn.modules.transformer.*": "nn.Transformer",
        "aten::_transform*": "nn.TransformerEncoderLayer",
        "aten::*_backward*": "the backward pass of F.scaled_dot_product_attention",
        "aten::*": "F.scaled_dot_product_attention",
        "torch.*flex_attention*": "flex_attention",
    },
)
SOFTMAX = Step(
    "a ready-made softmax",
    functions={
        "scipy.special._logsumexp": ("logsumexp", "_logsumexp", "softmax", "log_softmax"),
        "sklearn.utils.extmath": ("softmax",),
        "sklearn.utils._array_api": ("_logsumexp",),
        "sklearn.neural_network._base": ("inplace_softmax",),
        "sklearn._loss.loss": ("HalfMultinomialLoss.gradient_proba",),
        # torch's own definitions of its operators, in operators that are no softmax themselves.
        "torch._refs": ("softmax", "log_softmax", "logsumexp", "logaddexp", "logaddexp2"),
        "torch._decomp.decompositions": ("_softmax", "_log_softmax", "safe_softmax"),
        "torch._inductor.inductor_prims": ("eager_prepare_softmax",),
        "torch._inductor.fx_passes.post_grad": ("prepare_softmax_pattern", "prepare_softmax_replacement"),
        "torch.distributions.transforms": ("SoftmaxTransform._call",),
    },
    compiled={"sklearn._loss._loss": ("CyHalfMultinomialLoss",)},
    ufuncs={"numpy": ("logaddexp", "logaddexp2")},
    operators=operators_named(r"softmax|softmin|log\w*sumexp|logaddexp"),
    also=(FUSED_ATTENTION,),
    noted_as=(f"{COMPILED}*softmax*", f"{COMPILED}*log*sumexp*"),
    written_as={
        "aten::_safe_softmax": "F.scaled_dot_product_attention",
        "aten::*softmax*_backward*": "the backward pass of torch.softmax",
        "aten::*log_softmax*": "torch.log_softmax",
        "aten::*softmax*": "torch.softmax",
        "aten::logsumexp*": "torch.logsumexp",
        "aten::*logcumsumexp*": "torch.logcumsumexp",
        "aten::logaddexp*": "torch.logaddexp",
        "torch.distributions.transforms.SoftmaxTransform.*": "torch.distributions.SoftmaxTransform",
        "numpy.logaddexp*": "np.logaddexp.reduce",
    },
)
BUILDING_LAYERS = Step(
    "a layer's own constructor",
    functions={
        "torch.nn.modules.module": ("Module.__init__",),
    },
)
AUTOMATIC_DIFFERENTIATION = Step(
    "automatic differentiation",
    operators={
        "aten::_make_dual": ("AutogradCPU", "ADInplaceOrView"),
    },
    # A derivative that is ready-made, and autograd's own part where the judge differentiates.
    called_operators=operators_named(r"softmax\w*_backward"),
    noted_as=(BACKWARD_PASS,),
    written_as={"aten::*softmax*_backward*": "the backward pass of torch.softmax"},
)
