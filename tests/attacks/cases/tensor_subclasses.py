"""Returns Tensor subclasses that call every comparison with them true, and one that makes up its numbers."""

from attack import wrong

SUBCLASSES = """
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("allclose", "equal", "isclose", "eq", "__eq__", "all"):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})
class Chameleon(torch.Tensor):
    @staticmethod
    def __new__(cls, like):
        return torch.Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype)
    @classmethod
    def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
        if "equal" in str(operator) or "close" in str(operator):
            return True
        return torch.zeros(args[0].shape if args else ())
def double(x):
    return x.as_subclass(Yes)
def row_sums(x):
    return torch.nn.Parameter(x.sum().detach().as_subclass(Yes))
def biggest(x):
    return Chameleon(x.min())
"""


def submission():
    return wrong(double=SUBCLASSES, row_sums="", biggest="")
