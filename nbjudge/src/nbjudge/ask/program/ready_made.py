"""The names that ready-made steps run under, by family: torch's operators, and functions in Python.

Part of what runs in the student's kernel, see `respond`. Only what everything else comes down to is
named: every alias, method, module, scripted or compiled form and C++ caller of a step ends in one of
these. `tests/grading/test_ready_made.py` holds the list to the torch that is installed.
"""

# Operator -> the dispatch keys under which torch has a kernel of its own for it.
Operators = dict[str, tuple[str, ...]]
# Module -> qualified names in it. Modules that are not imported are watched when they are.
Functions = dict[str, tuple[str, ...]]

BACKWARD_PASS = "a backward pass"  # whoever started it: Python, C++ or scripted code
ANOTHER_PROCESS = "another process"
# Before a kernel that torch.compile wrote, which is named after the operators that it was made from.
COMPILED = "compiled: "

OPERATORS: dict[str, Operators] = {
    "softmax": {
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
    "fused_attention": {
        "aten::_safe_softmax": ("CPU", "NestedTensorCPU"),  # only torch's own fused attention runs it
        "aten::_fused_sdp_choice": ("CPU", "NestedTensorCPU"),
        "aten::_scaled_dot_product_flash_attention_for_cpu": ("CPU",),
        "aten::_scaled_dot_product_fused_attention_overrideable": ("CPU",),
        "aten::_native_multi_head_attention": ("CPU", "NestedTensorCPU"),
        "aten::_transform_bias_rescale_qkv": ("CPU", "NestedTensorCPU"),
        "aten::_transformer_encoder_layer_fwd": ("CPU", "NestedTensorCPU"),
    },
    "automatic_differentiation": {"aten::_make_dual": ("AutogradCPU", "ADInplaceOrView")},
    "building_layers": {},
}

FUNCTIONS: dict[str, Functions] = {
    "softmax": {
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
    "fused_attention": {
        "torch.nn.functional": ("multi_head_attention_forward",),
        "torch.nn.modules.activation": ("MultiheadAttention.__init__", "MultiheadAttention.forward"),
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
    "automatic_differentiation": {},
    "building_layers": {"torch.nn.modules.module": ("Module.__init__",)},
}
