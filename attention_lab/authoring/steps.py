"""The steps that students of this course write themselves, by the names that torch runs them under.

Only what everything else comes down to is named. `tests/grading/test_ready_made.py` holds the list to the
torch that is installed.
"""

from nbjudge.ask.program.recording import COMPILED
from nbjudge.torch import Step
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
        "torch._higher_order_ops.flex_attention": ("math_attention", "_math_attention_inner"),
        "torch.onnx.ops._impl": ("attention_23",),
    },
    operators={
        "aten::_safe_softmax": ("CPU", "NestedTensorCPU"),  # only torch's own fused attention runs it
        "aten::_fused_sdp_choice": ("CPU", "NestedTensorCPU"),
        "aten::_scaled_dot_product_flash_attention_for_cpu": ("CPU",),
        "aten::_scaled_dot_product_fused_attention_overrideable": ("CPU",),
        "aten::_native_multi_head_attention": ("CPU", "NestedTensorCPU"),
        "aten::_transform_bias_rescale_qkv": ("CPU", "NestedTensorCPU"),
        "aten::_transformer_encoder_layer_fwd": ("CPU", "NestedTensorCPU"),
    },
    noted_as=(f"{COMPILED}*attention*",),
    written_as={
        "torch.*MultiheadAttention.*": "nn.MultiheadAttention",
        "aten::_native_multi_head_attention": "nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward": "F.multi_head_attention_forward",
        "torch.nn.modules.transformer.TransformerDecoder*": "nn.TransformerDecoderLayer",
        "torch.nn.modules.transformer.TransformerEncoder*": "nn.TransformerEncoderLayer",
        "torch.nn.modules.transformer.*": "nn.Transformer",
        "aten::_transform*": "nn.TransformerEncoderLayer",
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
        "torch._refs": ("softmax", "log_softmax", "logsumexp"),
        "torch._decomp.decompositions": ("_softmax", "_log_softmax", "safe_softmax"),
        "torch._inductor.inductor_prims": ("eager_prepare_softmax",),
    },
    compiled={"sklearn._loss._loss": ("CyHalfMultinomialLoss",)},
    ufuncs={"numpy": ("logaddexp", "logaddexp2")},
    operators={
        "aten::_softmax": ("CPU", "MkldnnCPU", "NestedTensorCPU"),
        "aten::_softmax.out": ("CPU",),
        "aten::_log_softmax": ("CPU",),
        "aten::_log_softmax.out": ("CPU",),
        "aten::_masked_softmax": ("CPU",),
        "aten::_sparse_softmax": ("SparseCPU",),
        "aten::_sparse_log_softmax": ("SparseCPU",),
        "aten::_nested_tensor_softmax_with_shape": ("NestedTensorCPU",),
        "quantized::softmax": ("QuantizedCPU",),
        "aten::logsumexp": ("CPU",),
        "aten::logsumexp.out": ("CPU",),
        "aten::_logcumsumexp": ("CPU",),
        "aten::_logcumsumexp.out": ("CPU",),
    },
    also=(FUSED_ATTENTION,),
    noted_as=(f"{COMPILED}*softmax*", f"{COMPILED}*log*sumexp*"),
    written_as={
        "aten::_safe_softmax": "F.scaled_dot_product_attention",
        "aten::*_log_softmax*": "torch.log_softmax",
        "aten::*_softmax*": "torch.softmax",
        "aten::logsumexp*": "torch.logsumexp",
        "aten::_logcumsumexp*": "torch.logcumsumexp",
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
    noted_as=(BACKWARD_PASS,),
)
