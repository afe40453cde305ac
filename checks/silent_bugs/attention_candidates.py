"""Right and broken attention functions for `is_correct`, in many styles, put together again for each draw.

A function is put together from five steps, each drawn from several ways to write it; a broken one
has a step of its own in place of a right one. Its code does not tell which: that of all functions of a
family is the same, and holds every way of all of them (see `attention_lab.authoring.obfuscation`).

Every broken one breaks a sentence of the contract, and by far more than rounding. Its fault shows wherever
its property can, or on the whole of one path: with no mask or one shape of masks, with one, two or three
tensors, in one dtype. So an answer that tries each property and each path once finds all of them.
"""

import textwrap
from dataclasses import dataclass, field
from itertools import product

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


_HIDE = "\nif mask is not None:\n    a = a.masked_fill(~mask, -math.inf)\n"
_CLEAR = "\nif mask is not None:\n    b = b.masked_fill(~mask, 0.0)\n"
_SOFTMAX = f"{_HIDE}b = torch.softmax(a, dim=-1){_CLEAR}"
_DEFAULTS = "key = query if key is None else key\nvalue = key if value is None else value"

# By path, when a call is on it.
MASKS = {
    "no mask": "mask is None",
    "mask (T_q, T_k)": "mask is not None and mask.dim() == 2",
    "mask (B, 1, T_k)": "mask is not None and mask.dim() == 3 and mask.shape[-2] == 1",
    "mask (B, T_q, T_k)": "mask is not None and mask.dim() == 3 and mask.shape[-2] > 1",
}
GIVEN = {
    "query alone": "key is None and value is None",
    "query and key": "key is not None and value is None",
    "all three given": "key is not None and value is not None",
}
DTYPES = {"in float32": "query.dtype == torch.float32", "in float64": "query.dtype == torch.float64"}
_ON_A_PATH = {"sharper": "query = 2 * query", "of another query": "query = query.flip(-2)"}


def _results(before="", after="", when="True", returned="c, b"):
    """A last step that does something else where the condition holds, before the call or with its results."""
    call = "c, b = f(query, key, value, mask)"
    lines = "\n".join(filter(None, (before, call, after)))
    return {"results": f"if {when}:\n{textwrap.indent(lines, '    ')}\nelse:\n    {call}\nreturn {returned}"}


def _on_paths(paths):
    return {
        f"{how}, {path}": _results(before, when=when)
        for path, when in paths.items()
        for how, before in _ON_A_PATH.items()
    }


def _is_given(name):
    return f"{name} is not None"


def _without_gradient(result, name, how, cut):
    """The same numbers, but another gradient from one result to one argument."""
    given = "query, key, value, mask".replace(name, f"{name}.detach(){cut}".format(name))
    place = ("output", "weights").index(result)
    after = f"{'cb'[place]} = f({given})[{place}]"
    return {f"{result} to {name}: {how}": _results(after=after, when=_is_given(name))}


def _changing(name, how, change):
    """Results of a copy, and an argument that is changed afterwards."""
    before, after = f"e = {name}\n{name} = {name}.clone()", f"e.data.{change}"
    return {f"{name} {how}": _results(before, after, _is_given(name))}


SCALE = {
    "none": {"scores": "a = query @ key.mT"},
    "the width": {"scores": "a = query @ key.mT / query.shape[-1]"},
    "times the root": {"scores": "a = torch.matmul(query, key.mT) * math.sqrt(query.shape[-1])"},
    "root of the number of keys": {"scores": "a = query @ key.mT / math.sqrt(key.shape[-2])"},
    "root of the value's width": {"scores": "a = query @ key.mT / math.sqrt(value.shape[-1])"},
    "a fixed width": {"scores": "a = query @ key.mT * number ** -0.5"},
}

SOFTMAX = {
    "over the queries": {"weights": f"{_HIDE}b = torch.softmax(a, dim=-2){_CLEAR}"},
    "over the batch": {"weights": f"{_HIDE}b = torch.softmax(a, dim=0){_CLEAR}"},
    "over queries and keys": {"weights": f"{_HIDE}b = a.flatten(-2).softmax(dim=-1).view_as(a){_CLEAR}"},
    "left out": {"weights": f"b = a{_CLEAR}"},
    "one in the denominator": {
        "weights": f"{_HIDE}b = a.exp() / (1 + a.exp().sum(dim=-1, keepdim=True)){_CLEAR}"
    },
    "twice": {"weights": f"{_SOFTMAX}b = b.softmax(dim=-1){_CLEAR}"},
    "squares": {
        "weights": "a = a.square() if mask is None else a.square() * mask\n"
        "b = a / a.sum(dim=-1, keepdim=True).clamp(min=1e-9)"
    },
}

MASK = {
    "ignored": {"weights": "b = torch.softmax(a, dim=-1)"},
    "inverted": {"weights": f"mask = None if mask is None else ~mask{_SOFTMAX}"},
    "after the softmax": {"weights": f"b = torch.softmax(a, dim=-1){_CLEAR}"},
    "not in the output": {"weights": f"e = a.softmax(dim=-1){_SOFTMAX}", "output": "c = e @ value"},
    "scores of zero": {"weights": "b = torch.softmax(a if mask is None else a * mask, dim=-1)"},
    "added": {"weights": "b = torch.softmax(a if mask is None else a + mask, dim=-1)"},
    "weak": {"weights": "b = torch.softmax(a if mask is None else a - 5.0 * ~mask, dim=-1)"},
    "the first sample's": {
        "weights": f"mask = mask[0] if mask is not None and mask.dim() > 2 else mask{_SOFTMAX}"
    },
    "on the queries": {"weights": f"mask = None if mask is None else mask.mT{_SOFTMAX}"},
    **_on_paths(MASKS),
}

EMPTY = {
    "NaN": {"weights": f"{_HIDE}b = torch.softmax(a, dim=-1)"},
    "evenly": {
        "weights": "b = torch.softmax(a if mask is None else a.masked_fill(~mask, -1e9), dim=-1)",
    },
    "NaN in the output": {
        "weights": f"{_HIDE}e = torch.softmax(a, dim=-1)\nb = torch.nan_to_num(e)",
        "output": "c = e @ value",
    },
    "mean in the output": {
        "weights": "e = torch.softmax(a if mask is None else a.masked_fill(~mask, -1e9), dim=-1)\n"
        "b = e if mask is None else e * mask",
        "output": "c = e @ value",
    },
    "the first key": {
        "weights": "if mask is not None:\n"
        "    e = torch.arange(a.shape[-1]) == 0\n"
        f"    mask = mask | (e & ~mask.any(dim=-1, keepdim=True)){_SOFTMAX}",
    },
    "no mask for anyone": {
        "weights": f"mask = mask if mask is not None and mask.any(dim=-1).all() else None{_SOFTMAX}",
    },
    "everything zero": {
        "weights": f"{_SOFTMAX}b = b if mask is None else b * mask.any(dim=-1).all()",
    },
}

INPUTS = {
    "key and value swapped": {"defaults": f"{_DEFAULTS}\nkey, value = value, key"},
    "as many keys as queries": {"output": "b = b.view(*query.shape[:-1], query.shape[-2])\nc = b @ value"},
    "values as wide as queries": {"output": "c = (b @ value).view(query.shape)"},
    "keys cut off": {
        "defaults": f"{_DEFAULTS}\ni = query.shape[-2]\nkey, value = key[..., :i, :], value[..., :i, :]"
    },
    "weights transposed": {"output": "c = b.mT @ value"},
    "scores returned": {"output": "c = b @ value\nb = a"},
    "output of other weights": {"output": "c = b.square() @ value"},
    "output of another query": _results(after="c = c.flip(-2)"),
    "output of another column": _results(after="c = c.flip(-1)"),
    "weights of another key": _results(after="b = b.flip(-1)"),
    "weights of another query": _results(after="b = b.flip(-2)"),
    "results swapped": _results(returned="b, c"),
    "three results": _results(returned="c, b, b"),
    "a third result of None": _results(returned="c, b, None"),
    **_on_paths(GIVEN),
}

COMPANY = {
    "the neighbour's values": {"output": "c = b @ value.roll(1, 0)"},
    "the mean of the batch": {"output": "c = b @ (value + value.mean(dim=0, keepdim=True)) / 2"},
    "the last key left out": {
        "weights": "e = torch.arange(a.shape[-1]) < max(1, a.shape[-1] - 1)\n"
        f"mask = e if mask is None else mask & e{_SOFTMAX}",
    },
    "the past only": {
        "weights": "e = torch.ones_like(a, dtype=torch.bool).tril()\n"
        f"mask = e if mask is None else mask & e{_SOFTMAX}"
    },
    "nearer is more": {
        "weights": "e = torch.arange(a.shape[-2]).unsqueeze(-1) - torch.arange(a.shape[-1])\n"
        f"a = a - 0.5 * e.abs(){_SOFTMAX}",
    },
    "dropout": {"output": "b = F.dropout(b, 0.2)\nc = b @ value"},
    "the query added": {"output": "c = b @ value\nc = c + query if c.shape == query.shape else c"},
}

GRADIENTS = {
    "NaN from a row of nothing": {
        "weights": "e = torch.zeros_like(a)\n"
        f"a = a if mask is None else a + e.masked_fill(~mask, -math.inf)\nb = a.softmax(dim=-1){_CLEAR}"
    },
    "NaN from a length of zero": _results(after="c = c + (query - query).square().sum().sqrt()"),
    "none at all": _results(after="c, b = c.detach(), b.detach()"),
}
for _pair in ("output query", "output key", "output value", "weights query", "weights key"):
    GRADIENTS |= _without_gradient(*_pair.split(), "none", "")
    GRADIENTS |= _without_gradient(*_pair.split(), "moved", " + {0}.flip(-2, -1) - {0}.flip(-2, -1).detach()")

TENSORS = {
    "output of few digits": _results(after="c = c.bfloat16().to(c.dtype)"),
    "weights of few digits": _results(after="b = b.bfloat16().to(b.dtype)"),
    **_on_paths(DTYPES),
}
for _result, _other in product("cb", ("float", "double")):
    TENSORS[f"{_result}.{_other}"] = _results(after=f"{_result} = {_result}.{_other}()")
for _name in ("query", "key", "value"):
    TENSORS |= _changing(_name, "negated", "neg_()") | _changing(_name, "moved", "copy_(e.data.flip(-2))")
TENSORS |= _changing("mask", "inverted", "logical_not_()") | _changing("mask", "filled", "fill_(True)")

FAMILIES = {
    "scale": SCALE,
    "softmax": SOFTMAX,
    "mask": MASK,
    "empty": EMPTY,
    "inputs": INPUTS,
    "company": COMPANY,
    "gradients": GRADIENTS,
    "tensors": TENSORS,
}
