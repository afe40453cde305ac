"""Right attention functions for `is_correct`, in many styles, put together anew for each draw.

A function is put together from four steps, each drawn from several ways to write it; a broken one
has a step of its own in place of a right one. Names inside say nothing: the code reaches the kernel
without its text, and what a name, a constant or a docstring tells there, it would tell the student.
"""

import textwrap
from dataclasses import dataclass, field

from attention_lab.grading.exercise import Made

_FUNCTION = """
def attention(query, key=None, value=None, mask=None):
{body}
    return c, b

made = attention
"""

# a are the scores, b the weights, c the output.
STEPS = {
    "defaults": (
        "key = query if key is None else key\nvalue = key if value is None else value",
        "if key is None:\n    key = query\nif value is None:\n    value = key",
    ),
    "scores": (
        "a = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])",
        "a = torch.matmul(query / query.size(-1) ** 0.5, key.mT)",
        'a = torch.einsum("...id,...jd->...ij", query, key) * query.shape[-1] ** -0.5',
        "a = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(dim=-1).div(math.sqrt(key.shape[-1]))",
    ),
    "weights": (
        """
if mask is not None:
    a = a.masked_fill(~mask, -math.inf)
b = torch.softmax(a, dim=-1)
if mask is not None:
    b = b.masked_fill(~mask, 0.0)
""",
        """
mask = torch.ones_like(a, dtype=torch.bool) if mask is None else mask
b = F.softmax(torch.where(mask, a, torch.finfo(a.dtype).min), dim=-1) * mask
""",
        """
if mask is not None:
    a = a.masked_fill(mask.logical_not(), torch.finfo(a.dtype).min)
e = torch.exp(a - a.amax(dim=-1, keepdim=True).detach())
e = e if mask is None else e * mask
b = e / e.sum(dim=-1, keepdim=True).clamp(min=1)
""",
        """
if mask is None:
    b = F.log_softmax(a, dim=-1).exp()
else:
    b = F.log_softmax(a.masked_fill(~mask, -1e9), dim=-1).exp().where(mask, 0.0)
""",
    ),
    "output": (
        "c = b @ value",
        'c = torch.einsum("...ij,...jd->...id", b, value)',
        "c = (b.unsqueeze(-1) * value.unsqueeze(-3)).sum(dim=-2)",
    ),
}

# Right functions of quite another make; each ends where the return line begins.
WHOLE = (
    """
key = query if key is None else key
value = key if value is None else value
c = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
b = F.scaled_dot_product_attention(query, key, torch.eye(key.shape[-2], dtype=key.dtype), attn_mask=mask)
""",
    """
key = query if key is None else key
value = key if value is None else value
if query.dim() > 2:
    masks = [mask] * len(query) if mask is None or mask.dim() == 2 else mask
    parts = [attention(*part) for part in zip(query, key, value, masks)]
    c, b = (torch.stack(part) for part in zip(*parts))
else:
    a = torch.stack([key @ row for row in query]) / math.sqrt(query.shape[1])
    b = torch.softmax(a if mask is None else a.masked_fill(~mask, -math.inf), dim=1)
    b = b if mask is None else torch.where(mask, b, 0.0)
    c = b @ value
""",
    """
key = query if key is None else key
value = key if value is None else value
a = query.double() @ key.double().mT * query.shape[-1] ** -0.5
if mask is None:
    b = a.softmax(dim=-1).to(query.dtype)
else:
    b = torch.where(mask, a, -1e30).softmax(dim=-1).mul(mask).to(query.dtype)
c = torch.matmul(b, value)
""",
)


@dataclass(frozen=True)
class Animal:
    """One attention function, whether it is right, and what a broken one does, for the judge's eyes only."""

    made: Made
    right: bool
    kind: str = field(default="right")


def put_together(draw, changed: dict[str, str] | None = None) -> Made:
    """A function whose steps are drawn, but for those that `changed` gives.

    A changed step finds `number`, a width that no tensor has, beside the names of the steps before it.
    """
    steps = {name: ways[draw.integer(0, len(ways) - 1)] for name, ways in STEPS.items()}
    body = "\n".join((steps | (changed or {})).values())
    return made(body, draw.integer(3, 40) + 0.5)


def right_ones(draw, count: int) -> list[Animal]:
    """The plainest right function, one of quite another make, and `count - 2` whose steps are drawn."""
    plain = put_together(draw, {name: ways[0] for name, ways in STEPS.items()})
    other = made(WHOLE[draw.integer(0, len(WHOLE) - 1)])
    return [Animal(each, True) for each in (plain, other, *(put_together(draw) for _ in range(count - 2)))]


def made(body: str, number: float = 0.0) -> Made:
    """The function with this body."""
    return Made(_FUNCTION.format(body=textwrap.indent(body.strip(), "    ")), {"number": number})
