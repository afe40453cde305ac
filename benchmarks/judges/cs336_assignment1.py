"""Translation for `judge_pytest`: the tests of assignment 1 of Stanford's CS336 (MIT), without their code.

Get the suite from github.com/stanford-cs336/assignment1-basics (commit 25a8a49) and give its folder to
``run.py --pytest FOLDER cs336_assignment1.py``. Its tests need `einops`, which the course has as well.
"""

NAME = "CS336 assignment 1"
ADAPTER = "tests/adapters.py"

TESTS = {
    "softmax": ["tests/test_nn_utils.py::test_softmax_matches_pytorch"],
    "masked_attention": [
        "tests/test_model.py::test_scaled_dot_product_attention",
        "tests/test_model.py::test_4d_scaled_dot_product_attention",
    ],
    "EfficientMultiHeadAttention": ["tests/test_model.py::test_multihead_self_attention"],
    "rotate": ["tests/test_model.py::test_rope"],
    "rotary_angles": ["tests/test_model.py::test_rope"],
    "RotaryAttention": ["tests/test_model.py::test_multihead_self_attention_with_rope"],
}

FILES = dict.fromkeys(
    ["EfficientMultiHeadAttention", "RotaryAttention"], ["tests/fixtures/ts_tests/model.pt"]
)

_LOAD = """
def _loaded(layer, q, k, v, o):
    weights = {"query.weight": q, "key.weight": k, "value.weight": v, "output.weight": o}
    layer.load_state_dict(weights)
    return layer

def _causal(x):
    return torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril()
"""

TRANSLATIONS = {
    "softmax": """
def run_softmax(in_features, dim):
    return answer(in_features.movedim(dim, -1)).movedim(-1, dim)
""",
    "masked_attention": """
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return answer(Q, K, V, mask)[0]
""",
    "EfficientMultiHeadAttention": f"""{_LOAD}
def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = answer(d_model, num_heads)
    layer = _loaded(layer, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, mask=_causal(in_features))[0]
""",
    "rotate": """
def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rates = theta ** (-torch.arange(0, d_k, 2) / d_k)
    angles = torch.outer(torch.arange(max_seq_len).float(), rates)
    return answer(in_query_or_key, angles[token_positions])
""",
    "rotary_angles": """
def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    angles = answer(max_seq_len, d_k, theta)[token_positions]
    a, b, cos, sin = in_query_or_key[..., 0::2], in_query_or_key[..., 1::2], angles.cos(), angles.sin()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
""",
    "RotaryAttention": f"""{_LOAD}
def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
    in_features, token_positions=None
):
    layer = answer(d_model, num_heads, theta)
    layer = _loaded(layer, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, mask=_causal(in_features))[0]
""",
}
