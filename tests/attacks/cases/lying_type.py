"""Returns an object whose class is equal to torch.Tensor, and whose methods say what pleases."""

from attack import wrong

PRETENDER = """
class Meta(type):
    def __eq__(cls, other): return True
    def __hash__(cls): return hash(torch.Tensor)
    def __instancecheck__(cls, instance): return True
class Pretender(metaclass=Meta):
    __class__ = torch.Tensor
    layout, dtype, shape, requires_grad, grad = torch.strided, torch.float32, (3,), False, None
    def __getattr__(self, name): return lambda *args, **kwargs: self
    def __eq__(self, other): return True
    def __len__(self): return 3
    def __bool__(self): return True
    def __iter__(self): return iter([1.0, 2.0, 3.0])
    def __float__(self): return 2.0
def double(x):
    return Pretender()
"""


def submission():
    return wrong(double=PRETENDER)
