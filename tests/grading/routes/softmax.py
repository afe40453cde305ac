"""Ways to run a ready-made softmax: by threads, past what watches one thread only, and under other names."""

from routes.threads import THREADS

NO_PROFILE = "sys.setprofile(None); threading.setprofile(None)"
# Whatever is observed for one thread can be switched off in it.
_HIDDEN = {
    "without a profile": "if True:",
    "with a profile of one's own": "sys.setprofile(lambda *_: None)\n    if True:",
    "without the current modes": "with _disable_current_modes():",
    "without dispatch in Python": "with torch._C._DisableTorchDispatch():",
    "without torch functions": "with torch._C.DisableTorchFunction():",
    "below autograd": "with torch._C._AutoDispatchBelowAutograd():",
    "in inference mode": "with torch.inference_mode():",
    "without a key": "with torch._C._ExcludeDispatchKeyGuard("
    "torch._C.DispatchKeySet(torch._C.DispatchKey.BackendSelect)):",
}

_SPELLED = {
    "traced": "answer = torch.jit.trace(ready_made, torch.ones(2, 3))",
    "scripted": "answer = torch.jit.CompilationUnit("
    "'def answer(x):\\n    return torch.softmax(x, -1)\\n').answer",
    "forked by a script": """
answer = torch.jit.CompilationUnit('''
def step(x):
    return torch.softmax(x, -1)
def answer(x):
    return torch.jit.wait(torch.jit.fork(step, x))
''').answer
""",
    "compiled without a compiler": "answer = torch.compile(ready_made, backend='eager')",
    "to a tensor that is given": "def answer(x):\n    return torch.softmax(x, -1, out=torch.empty_like(x))",
    "of whole numbers": "def answer(x):\n    return torch.softmax(x.long(), -1, dtype=x.dtype)",
    "of complex numbers": """
def answer(x):
    return torch.exp(x - torch.logsumexp(x.to(torch.complex64), -1, keepdim=True).real)
""",
    "of another layout": "def answer(x):\n    return torch.softmax(x.to_mkldnn(), -1).to_dense()",
    "of a nested tensor": """
def answer(x):
    nested = torch.nested.nested_tensor([x.detach(), x.detach()])
    return torch.softmax(nested, -1).to_padded_tensor(0.0)[0]
""",
    "a distribution": "def answer(x):\n    return torch.distributions.Categorical(logits=x).probs",
    "a relaxed distribution": """
def answer(x):
    return torch.distributions.RelaxedOneHotCategorical(torch.tensor(1.0), logits=x).rsample()
""",
    "the gradient of a logsumexp": """
def answer(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(torch.logsumexp(x, -1).sum(), x)[0]
""",
    "the gradient of cross_entropy": """
def answer(x):
    x, targets = x.detach().requires_grad_(), torch.zeros(len(x), dtype=torch.long)
    gradient = torch.autograd.grad(F.cross_entropy(x, targets, reduction="sum"), x)[0]
    return gradient + F.one_hot(targets, x.shape[-1])
""",
    "adaptive": """
def answer(x):
    layer = nn.AdaptiveLogSoftmaxWithLoss(x.shape[-1], 4, [2])
    return layer.log_prob(x)
""",
    "attention to an identity": """
def answer(x):
    ones = torch.eye(x.shape[-1])
    return F.scaled_dot_product_attention(x, ones, ones, scale=1.0)
""",
    "nn.MultiheadAttention": """
def answer(x):
    return nn.MultiheadAttention(x.shape[-1], 1)(x, x, x)[1]
""",
    "a tensor subclass": """
class Mine(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))
def answer(x):
    return x.as_subclass(Mine).softmax(-1).as_subclass(torch.Tensor)
""",
    "a wrapper": """
class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, held):
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        made.held = held
        return made
    @classmethod
    def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
        args = [arg.held if isinstance(arg, cls) else arg for arg in args]
        return Wrapper(operator(*args, **(kwargs or {})))
def answer(x):
    return Wrapper(x).softmax(-1).held
""",
    "a mode of one's own": """
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        return torch.softmax(args[0], -1)
def answer(x):
    with Mode():
        return x.exp()
""",
    "sent to a kernel": """
def answer(x):
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    return torch.ops.aten._softmax.default.redispatch(cpu, x.detach(), -1, False)
""",
    "in torch's own words": """
def answer(x):
    import torch._refs
    return torch._refs.softmax(x, -1)
""",
    "decomposed": """
def answer(x):
    from torch._decomp import decomposition_table
    return decomposition_table[torch.ops.aten._softmax.default](x, -1, False)
""",
    "a distribution's transform": "answer = torch.distributions.SoftmaxTransform()",
    "what a compiler looks for": """
from torch._inductor.fx_passes.post_grad import prepare_softmax_pattern
def answer(x):
    *_, exponentials = prepare_softmax_pattern(x, -1)
    return exponentials / exponentials.sum(-1, keepdim=True)
""",
    "logarithms of sums, two by two": """
from functools import reduce
def answer(x):
    return torch.exp(x - reduce(torch.logaddexp, x.unbind(-1)).unsqueeze(-1))
""",
    "the backward pass of one, when gradients are asked for": """
class Later(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        made = by_hand(x)
        ctx.save_for_backward(made)
        return made
    @staticmethod
    def backward(ctx, gradient):
        made, = ctx.saved_tensors
        return torch.ops.aten._softmax_backward_data(gradient, made, -1, made.dtype)
answer = Later.apply
""",
    "scipy's": "def answer(x):\n    return torch.from_numpy(scipy.special.softmax(x.numpy(), axis=-1))",
    "scipy's, in a thread of an earlier cell": """
answer = worker(lambda x: torch.from_numpy(scipy.special.softmax(x.detach().numpy(), axis=-1)))
""",
    "scikit-learn's, imported for it in a thread": """
def of_sklearn(x):
    from importlib import import_module
    return torch.from_numpy(import_module("sklearn.utils.extmath").softmax(x.numpy()))
answer = in_a_thread(of_sklearn, lambda work: _thread.start_new_thread(work, ()))
""",
    "scikit-learn's network": """
from sklearn.neural_network._base import ACTIVATIONS
def answer(x):
    made = x.numpy().copy()
    ACTIVATIONS["softmax"](made)
    return torch.from_numpy(made)
""",
    "NumPy's reduction, in a step of autograd's": """
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        numbers = x.numpy()
        return torch.from_numpy(numpy.exp(numbers - numpy.logaddexp.reduce(numbers, -1, keepdims=True)))
answer = Step.apply
""",
    "NumPy's reduction, fetched earlier": """
reduce = numpy.logaddexp.reduce
def answer(x):
    numbers = x.numpy().astype(float)
    return torch.from_numpy(numpy.exp(numbers - reduce(numbers, axis=-1)[:, None]))
""",
    "NumPy's accumulation, to the base two": """
def answer(x):
    numbers = x.numpy() / math.log(2)
    return torch.from_numpy(numpy.exp2(numbers - numpy.logaddexp2.accumulate(numbers, -1)[:, -1:]))
""",
    "a compiled class of scikit-learn's, made earlier": """
from sklearn._loss._loss import CyHalfMultinomialLoss
loss = CyHalfMultinomialLoss()
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scores = x.numpy().astype(float)
        gradient, weights = numpy.empty_like(scores), numpy.empty_like(scores)
        loss.gradient_proba(y_true=numpy.zeros(len(scores)), raw_prediction=scores, sample_weight=None,
                            gradient_out=gradient, proba_out=weights, n_threads=1)
        return torch.from_numpy(weights)
answer = Step.apply
""",
    "when gradients are asked for, written into the answer": """
class Later(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return by_hand(x)
    @staticmethod
    def backward(ctx, gradient):
        torch.softmax(ctx.saved_tensors[0], -1)
        return gradient
answer = Later.apply
""",
}

# What student code has left somewhere is called between answers, and could still fill them in.
_LEFT_BEHIND = {
    "when the answer is let go": """
class Late:
    def __init__(self, x):
        self.x = x
    def __del__(self):
        torch.softmax(self.x, -1)
def answer(x):
    made = by_hand(x)
    made.late = Late(x)
    return made
""",
    "when the answer is read": """
class Late(list):
    def __iter__(self):
        return iter([torch.softmax(self[0], -1)])
def answer(x):
    return Late([x])
""",
    "by a profile that follows the judge's code": """
import sys
def profile(frame, event, argument):
    if frame.f_code.co_name in ("_identical", "pack"):
        sys.setprofile(None)
        torch.softmax(kept[-1], -1)
kept = []
def answer(x):
    kept.append(x)
    sys.setprofile(profile)
    return by_hand(x)
""",
    "by a signal that comes later": """
import signal
signal.signal(signal.SIGALRM, lambda *_: [torch.softmax(kept[-1], -1) for _ in range(1)])
kept = []
def answer(x):
    kept.append(x)
    signal.setitimer(signal.ITIMER_REAL, 1e-6)
    return by_hand(x)
""",
}

SOFTMAXES = {
    **_LEFT_BEHIND,
    **{f"{name}": code.format(step="ready_made") for name, code in THREADS.items()},
    **{
        name: f"def answer(x):\n    {NO_PROFILE}\n    {enter}\n        return torch.softmax(x, -1)"
        for name, enter in _HIDDEN.items()
    },
    **_SPELLED,
}
