"""Right attention functions for `is_correct`, in many styles, put together again for each draw.

A function is put together from five steps, each drawn from several ways to write it; a broken one
has a step of its own in place of a right one. Its code does not tell which: that of all functions of a
family is the same, and holds every way of all of them (see `attention_lab.authoring.obfuscation`).
"""

from dataclasses import dataclass, field

from attention_lab.authoring import MadeInKernel, Obfuscation

_FUNCTION = """
def attention(query, key=None, value=None, mask=None):
    def f(query, key, value, mask):
        <whole>
        return c, b
    <results>

made = attention
"""
_IN_STEPS = "<defaults>\n<scores>\n<weights>\n<output>"

# a are the scores, b the weights, c the output. Results may come in any memory layout, as a tuple or a list.
STEPS = {
    "results": (
        "return f(query, key, value, mask)",
        "return list(f(query, key, value, mask))",
        "c, b = f(query, key, value, mask)\nreturn c.mT.contiguous().mT, b",
        "c, b = f(query, key, value, mask)\nreturn [c, b.mT.contiguous().mT]",
        "c, b = f(query, key, value, mask)\nreturn torch.cat((c, c), dim=-1)[..., : c.shape[-1]], b",
    ),
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
    parts = [f(*part) for part in zip(query, key, value, masks)]
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
class Candidate:
    """One attention function, whether it is right, and what a broken one does, for the judge's eyes only."""

    function: MadeInKernel
    right: bool
    kind: str = field(default="right")


class Family:
    """The functions of one family: broken ones, and right ones that are written like them.

    A changed step finds `number`, a width that no tensor has, beside the names of the steps before it.
    """

    def __init__(self, draw, broken: dict[str, dict[str, str]]) -> None:
        self.draw, self.broken = draw, broken
        steps = {
            name: [*ways, *(changed[name] for changed in broken.values() if name in changed)]
            for name, ways in STEPS.items()
        }
        self.ways = {"whole": [*WHOLE, _IN_STEPS]} | steps
        self.obfuscation = Obfuscation(draw, _FUNCTION, self.ways)

    def in_steps(self, changed: dict[str, str] | None = None) -> MadeInKernel:
        """A function whose steps are drawn from the right ones, but for those that `changed` gives."""
        chosen = {name: self.draw.integer(0, len(ways) - 1) for name, ways in STEPS.items()}
        chosen |= {name: self.ways[name].index(way) for name, way in (changed or {}).items()}
        return self._draw_function({"whole": len(WHOLE)} | chosen)

    def of_another_make(self, which: int, results: str = STEPS["results"][0]) -> MadeInKernel:
        """A right function that has no such steps."""
        return self._draw_function({"whole": which, "results": self.ways["results"].index(results)})

    def right_ones(self) -> list[Candidate]:
        """The plainest right function, one of quite another make, and one whose steps are drawn.

        One of the last two returns a list, and the other a tuple with a result in another memory layout.
        """
        plain, a_list, *others = STEPS["results"]
        forms = self.draw.shuffled((a_list, others[self.draw.integer(0, len(others) - 1)]))
        functions = (
            self.in_steps({name: ways[0] for name, ways in STEPS.items()} | {"results": plain}),
            self.of_another_make(self.draw.integer(0, len(WHOLE) - 1), forms[0]),
            self.in_steps({"results": forms[1]}),
        )
        return [Candidate(function, True) for function in functions]

    def broken_ones(self) -> list[Candidate]:
        """One of each kind."""
        return [Candidate(self.in_steps(changed), False, kind) for kind, changed in self.broken.items()]

    def _draw_function(self, chosen: dict[str, int]) -> MadeInKernel:
        return self.obfuscation.draw_function(chosen, {"number": self.draw.integer(3, 40) + 0.5})
