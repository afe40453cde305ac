"""Ways to run the other steps that an exercise may ask for, and ways to do without."""

SEEN = {
    "fused_attention": {
        "in a thread of an earlier cell": """
answer = worker(lambda x: F.scaled_dot_product_attention(x, x, x))
""",
        "without modes": """
def answer(x):
    sys.setprofile(None)
    with _disable_current_modes():
        return F.scaled_dot_product_attention(x, x, x)
""",
        "a layer of an earlier cell, in a thread": """
layer = nn.MultiheadAttention(4, 2)
answer = worker(lambda x: layer(x, x, x)[0])
""",
        "torch's fast path": """
layer = nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, batch_first=True).eval()
def answer(x):
    with torch.no_grad():
        return layer(x[None])[0]
""",
        "its function, fetched earlier": """
attend = F.multi_head_attention_forward
def answer(x):
    weights = torch.ones(12, 4), None, None, None, False, 0.0, torch.eye(4), None
    return attend(*(x[:, None],) * 3, 4, 2, *weights)[0]
""",
        "scripted": """
answer = torch.jit.CompilationUnit(
    "def answer(x):\\n    return torch._C._nn.scaled_dot_product_attention(x, x, x)\\n").answer
""",
        "its backward pass alone": """
made, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*(torch.ones(1, 1, 3, 4),) * 3)
def answer(x):
    given = (x[None, None],) * 4  # a gradient, query, key and value
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    return backward(*given, made, total, 0.0, False)[0][0, 0]
""",
        "a formula that a compiler looks for": """
from torch._inductor.fx_passes.fuse_attention import _sfdp_pattern_1
def answer(x):
    return _sfdp_pattern_1(x, x, x, 2.0)
""",
        "of another format's operators": """
def answer(x):
    import torch.onnx.ops
    return torch.onnx.ops.attention(*(x[None, None],) * 3)[0]
""",
    },
    "automatic_differentiation": {
        "in a thread of an earlier cell": """
def slope(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(x.exp().sum(), x)[0]
answer = worker(slope)
""",
        "scripted": """
answer = torch.jit.CompilationUnit('''
def answer(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad([torch.exp(x).sum()], [x])[0]
''').answer
""",
        "torch's engine itself": """
engine = torch.autograd.Variable._execution_engine
def answer(x):
    sys.setprofile(None)
    x = x.detach().requires_grad_()
    ends = x.exp().sum(), torch.ones(())
    return engine.run_backward(ends[:1], ends[1:], False, False, (x,), allow_unreachable=True,
                               accumulate_grad=False)[0]
""",
        "forward, in a thread of an earlier cell": """
from torch.autograd import forward_ad
def slope(x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(x, torch.ones_like(x)).exp()).tangent
answer = worker(slope)
""",
        "forward, in torch's own words": """
def answer(x):
    sys.setprofile(None)
    with torch.autograd.forward_ad.dual_level():
        return torch._VF._unpack_dual(torch._VF._make_dual(x, x, level=0), level=0)[1]
""",
        "the derivative of a softmax, ready-made": """
def answer(x):
    unit = torch.eye(4).expand(3, 4, 4).contiguous()
    weights = x.softmax(-1).unsqueeze(-2).expand(3, 4, 4).contiguous()
    return torch.ops.aten._softmax_backward_data(unit, weights, -1, x.dtype)
""",
        "by functions": "answer = worker(torch.func.grad(lambda x: x.exp().sum()))",
    },
    "building_layers": {
        "a layer": "def answer(x):\n    return sum(p.numel() for p in nn.Linear(3, 4).parameters())",
        "in a thread of an earlier cell": "answer = worker(lambda x: nn.Linear(3, 4).weight)",
        "a constructor that was fetched earlier": """
construct = nn.Linear.__init__
def answer(x):
    layer = nn.Linear.__new__(nn.Linear)
    construct(layer, 3, 4)
    return layer.weight
""",
        "a module of one's own": """
class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
def answer(x):
    return Mine().weight
""",
    },
}

NOT_ACCUSED = {
    "fused_attention": {
        "a softmax": "def answer(x):\n    return torch.softmax(x @ x.mT, -1) @ x",
        "a layer of one's own": """
class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)
    def forward(self, x):
        return by_hand(self.query(x) @ x.mT) @ x
def answer(x):
    return Mine()(x)
""",
    },
    "automatic_differentiation": {
        "a formula": "answer = worker(lambda x: torch.diag_embed(x) - x[..., None] * x[..., None, :])",
        "leaving the graph": "def answer(x):\n    return x.clone().requires_grad_().exp().detach()",
        "a backward pass of an earlier cell": """
leaf = torch.ones(3, requires_grad=True)
leaf.exp().sum().backward()
def answer(x):
    return leaf.grad
""",
    },
    "building_layers": {
        "counting": "def answer(x):\n    return 4 * 3 + 4",
        "calling a layer of an earlier cell": "layer = nn.Linear(4, 4)\nanswer = layer",
    },
}
