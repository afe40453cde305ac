"""Leaves torch modes on that rewrite comparisons, and other defaults, for what computes next."""

from attack import wrong

DEFAULTS = """
from torch.overrides import TorchFunctionMode
class Yes(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("allclose", "equal", "isclose"):
            return True
        return function(*args, **(kwargs or {}))
Yes().__enter__()
torch.inference_mode().__enter__()
torch.set_grad_enabled(False)
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.manual_seed(0)
torch.set_num_threads(64)
torch.use_deterministic_algorithms(True)
torch.set_printoptions(precision=0, threshold=0)
torch.Tensor.__repr__ = lambda self: "tensor(2)"
torch.Tensor.copy_ = torch.Tensor.detach = torch.Tensor.clone = lambda self, *rest, **options: self
def double(x):
    return x
"""


def submission():
    return wrong(double=DEFAULTS)
