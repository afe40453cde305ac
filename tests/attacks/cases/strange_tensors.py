"""Returns tensors of every layout, device and kind that there is beside the ordinary."""

from attack import wrong

STRANGE = """
kinds = iter([
    lambda x: x.to("meta"),
    lambda x: x.to_sparse(),
    lambda x: x.to(torch.complex64).conj(),
    lambda x: torch.quantize_per_tensor(x.detach().float(), 0.1, 0, torch.qint8),
    lambda x: torch.nested.nested_tensor([x.detach(), x.detach()]),
    lambda x: x.to(torch.bfloat16),
    lambda x: torch._neg_view(x.detach()),
    lambda x: x.detach().as_strided(x.shape, [0] * x.dim()),
    lambda x: torch.nn.UninitializedParameter(),
    lambda x: torch.func.vmap(lambda row: row)(x),
] * 10)
def double(x):
    return next(kinds)(x)
row_sums = biggest = double
"""


def submission():
    return wrong(double=STRANGE, row_sums="", biggest="")
